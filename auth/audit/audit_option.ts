/** A kind of event in the audit log. */
export type AuthEventKind =
  | "sign-up"
  | "sign-in"
  | "sign-in-failed"
  | "sign-out"
  | "session-revoked"
  | "password-reset"
  | "password-changed"
  | "email-changed"
  | "role-changed"
  | "user-banned"
  | "user-unbanned"
  | "user-deleted"
  | "impersonation-started"
  | "api-key-created"
  | "api-key-used";

/** Settings of the audit log. */
export interface AuditSettings {
  /**
   * Kinds of events that are not recorded.
   * @default [] (none)
   */
  exclude?: readonly AuthEventKind[];
}

/** The option `audit` of `AuthConfig`. */
export type AuditOption = boolean | AuditSettings;
