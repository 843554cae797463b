import type { AuthConfig } from "../../auth/config/config.ts";

/** What the provider says of a user. */
export interface AcmeProfile {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string;
}

/** Returns the setting `socialProviders.custom` with the provider `acme`, which asks no server. */
export function acmeProvider(
  getProfile: () => AcmeProfile,
): NonNullable<Exclude<AuthConfig["socialProviders"], (...args: never) => unknown>>["custom"] {
  return [{
    providerId: "acme",
    clientId: "c",
    clientSecret: "s",
    options: {
      authorizationUrl: "https://acme.example/authorize",
      getToken: () => Promise.resolve({ accessToken: "t" }),
      getUserInfo: () => Promise.resolve(getProfile()),
    },
  }];
}
