import { isRouteMounted } from "../../auth/better_auth/auth_routes.ts";
import { DatabaseOperation } from "../../database/queries/table_permission.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** Operations by model. */
export type OperationsByModel = Readonly<Record<string, readonly DatabaseOperation[]>>;

const ALL = [Select, Insert, Update, Delete];
const READ = [Select];

/** A route that checks the session may extend it, or delete it because it has expired. */
const SESSION = { user: READ, session: [Select, Update, Delete] };
/** A sign-in by a provider creates users and accounts, and takes over unverified accounts. */
const PROVIDER = { user: [Select, Insert, Update], session: ALL, account: ALL };
const VERIFICATION = [Select, Insert, Delete];
const DELETION = { ...SESSION, user: [Select, Delete], account: [Select, Delete] };

/**
 * Operations of better-auth 1.7's routes without plugins and hooks. `tests/auth/routes` runs each
 * route with a role that has exactly these.
 */
export const AUTH_ROUTE_TABLES: Readonly<Record<string, OperationsByModel>> = {
  "/ok": {},
  "/error": {},
  "/sign-up/email": {
    user: [Select, Insert],
    session: [Select, Insert],
    account: [Select, Insert],
  },
  "/sign-in/email": { user: READ, session: [Select, Insert], account: READ },
  "/sign-in/social": { ...PROVIDER, verification: VERIFICATION },
  "/callback/:id": { ...PROVIDER, verification: VERIFICATION },
  "/link-social": {
    user: [Select, Update],
    session: SESSION.session,
    account: [Select, Insert, Update],
    verification: VERIFICATION,
  },
  "/get-session": SESSION,
  "/sign-out": { ...SESSION, account: READ },
  "/list-sessions": SESSION,
  "/revoke-session": SESSION,
  "/revoke-sessions": SESSION,
  "/revoke-other-sessions": SESSION,
  "/update-session": SESSION,
  "/update-user": { ...SESSION, user: [Select, Update] },
  "/verify-password": { ...SESSION, account: READ },
  "/change-password": { user: READ, session: ALL, account: [Select, Update] },
  "/change-email": { ...SESSION, user: [Select, Update] },
  "/send-verification-email": SESSION,
  "/verify-email": { user: [Select, Update], session: ALL, verification: [Select, Delete] },
  "/request-password-reset": {
    user: READ,
    account: READ,
    session: READ,
    verification: VERIFICATION,
  },
  "/reset-password/:token": { user: READ, verification: [Select, Delete] },
  "/reset-password": {
    user: [Select, Update],
    session: [Select, Delete],
    account: ALL,
    verification: VERIFICATION,
  },
  "/delete-user": { ...DELETION, verification: VERIFICATION },
  "/delete-user/callback": { ...DELETION, verification: [Select, Delete] },
  "/list-accounts": { ...SESSION, account: READ },
  "/unlink-account": { ...SESSION, account: [Select, Delete] },
  "/refresh-token": { ...SESSION, account: [Select, Update] },
  "/get-access-token": { ...SESSION, account: [Select, Update] },
  "/account-info": { ...SESSION, account: [Select, Update] },
};

/** Routes of {@link AUTH_ROUTE_TABLES} that can send a mail. */
export const MAIL_ROUTES: readonly string[] = [
  "/callback/:id",
  "/change-email",
  "/delete-user",
  "/request-password-reset",
  "/send-verification-email",
  "/sign-in/email",
  "/sign-in/social",
  "/sign-up/email",
  "/verify-email",
];

/** Lists the routes of better-auth without plugins that patterns mount. */
export function listMountedRoutes(patterns: readonly string[]): string[] {
  return Object.keys(AUTH_ROUTE_TABLES).filter((route) => isRouteMounted(patterns, route));
}

/**
 * Returns the operations of the mounted routes.
 *
 * @param patterns The option `routes` of `createAuthHandler`.
 */
export function getMountedOperations(patterns: readonly string[]): OperationsByModel {
  const operations: Record<string, DatabaseOperation[]> = {};
  for (const route of listMountedRoutes(patterns)) {
    for (const [model, needed] of Object.entries(AUTH_ROUTE_TABLES[route])) {
      operations[model] = ALL.filter((each) =>
        needed.includes(each) || operations[model]?.includes(each)
      );
    }
  }
  return operations;
}
