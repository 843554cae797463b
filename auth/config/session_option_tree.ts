import type { LibraryOptions } from "../better_auth/library_options.ts";
import type { OptionTree, OptionTreeOf } from "./option_tree.ts";

/** The options of a field of `additionalFields`. */
export const FIELDS = {
  "*": {
    type: true,
    required: true,
    returned: true,
    input: true,
    defaultValue: true,
    onUpdate: true,
    transform: { input: true, output: true },
    references: { model: true, field: true, onDelete: true },
    unique: true,
    bigint: true,
    validator: { input: true, output: true },
    fieldName: true,
    sortable: true,
    index: true,
  },
} as const;

const COOKIE = {
  domain: true,
  expires: true,
  httpOnly: true,
  maxAge: true,
  partitioned: true,
  path: true,
  prefix: true,
  sameSite: true,
  secure: true,
} as const;

/** better-auth's options `session`. */
export const SESSION_OPTIONS = {
  modelName: true,
  fields: {
    createdAt: true,
    updatedAt: true,
    userId: true,
    expiresAt: true,
    token: true,
    ipAddress: true,
    userAgent: true,
  },
  additionalFields: FIELDS,
  expiresIn: true,
  updateAge: true,
  disableSessionRefresh: true,
  deferSessionRefresh: true,
  storeSessionInDatabase: true,
  preserveSessionInDatabase: true,
  cookieCache: {
    maxAge: true,
    enabled: true,
    strategy: true,
    refreshCache: { updateAge: true },
    version: true,
  },
  freshAge: true,
} as const satisfies OptionTreeOf<LibraryOptions["session"]>;

/** better-auth's options `advanced`. */
export const ADVANCED_OPTIONS = {
  ipAddress: {
    ipAddressHeaders: true,
    disableIpTracking: true,
    ipv6Subnet: true,
    trustedProxies: true,
  },
  useSecureCookies: true,
  disableCSRFCheck: true,
  disableOriginCheck: true,
  crossSubDomainCookies: { enabled: true, additionalCookies: true, domain: true },
  cookies: { "*": { name: true, attributes: COOKIE } },
  defaultCookieAttributes: COOKIE,
  cookiePrefix: true,
  database: { defaultFindManyLimit: true, generateId: true, joins: true, validateSchema: true },
  trustedProxyHeaders: true,
  backgroundTasks: { handler: true },
  skipTrailingSlashes: true,
} as const satisfies OptionTreeOf<LibraryOptions["advanced"]>;

/**
 * The options that a check of sessions reads. A function that only checks sessions refuses what these sections do not
 * have; `checkAuthOptions` refuses it in all others, where better-auth starts and in the command line.
 */
export const SESSION_CHECK_TREE: OptionTree = {
  "*": true,
  session: SESSION_OPTIONS,
  advanced: ADVANCED_OPTIONS,
  user: { "*": true, additionalFields: FIELDS },
};
