import type { SessionTimes } from "./session_length.ts";

/** Result of the session query. */
export interface SessionRow extends SessionTimes {
  id: string;
  token: string;
  userId: string;
  email: string;
  name: string | null;
  image: string | null;
  emailVerified: boolean;
  /** Columns added by the application and plugins. */
  userFields?: Record<string, unknown>;
  sessionFields?: Record<string, unknown>;
  /** Columns of joined tables. */
  joined?: Record<string, unknown>;
}

/** A prepared query of a session with its user. */
export interface SessionQuery {
  /** Finds the session of a stored token. */
  execute(values: { token: string }): Promise<SessionRow[]>;
}
