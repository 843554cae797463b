import { setConfiguredSession, useConfiguredSession } from "../../core/http/auth_registry.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import type { SessionIdentity, SessionResult } from "../../core/http/session.ts";

/** Sets what handlers with auth `session` find, in place of a database; `undefined` removes it. */
export function setSessionCheck(
  check: ((event: ApiEvent) => Promise<SessionResult>) | undefined,
): void {
  setConfiguredSession(
    check && {
      mode: "session",
      authenticate: (event) =>
        check(event).then((session) => ({ userId: session.user.id, session })),
    },
  );
}

/** Checks the session of a request as a handler with auth `session` does. */
export async function checkSessionOf(event: ApiEvent): Promise<SessionIdentity> {
  return await useConfiguredSession().authenticate(event) as SessionIdentity;
}
