/** Result of an authorizer about the caller. */
export enum UserStatus {
  /** A good credential was shown. */
  Authenticated = "Authenticated",
  /** A credential was shown and is not good. */
  Unauthenticated = "Unauthenticated",
  /** No credential was shown. */
  Anonymous = "Anonymous",
}
