import { decodeDate, encodeDate } from "../../database/queries/column_codecs.ts";
import type { AuthSettings } from "../config.ts";
import { authSessions, authUsers } from "../session_tables.ts";
import { type AuthColumnOptions, type AuthTable, defineAuthTable } from "./table.ts";

const read = (name: string): AuthColumnOptions => ({ name, decode: decodeDate });
const checked = (name: string): AuthColumnOptions => ({ ...read(name), dataType: "date" });
const written = (name: string): AuthColumnOptions => ({ ...checked(name), encode: encodeDate });

/** The table `users` with codecs. */
export const users: AuthTable = /* @__PURE__ */ defineAuthTable("users", {
  id: { name: "id", sqlType: "uuid" },
  name: "name",
  email: "email",
  emailVerified: "email_verified",
  image: "image",
  createdAt: /* @__PURE__ */ read("created_at"),
  updatedAt: /* @__PURE__ */ read("updated_at"),
});

/** The table `sessions` with codecs. */
export const sessions: AuthTable = /* @__PURE__ */ defineAuthTable("sessions", {
  id: "id",
  expiresAt: /* @__PURE__ */ written("expires_at"),
  token: "token",
  createdAt: /* @__PURE__ */ checked("created_at"),
  updatedAt: /* @__PURE__ */ written("updated_at"),
  ipAddress: "ip_address",
  userAgent: "user_agent",
  userId: "user_id",
});

/** Returns settings with codecs for built-in tables beside those of the application. */
export function withCodecs<Settings extends Pick<AuthSettings, "schema">>(
  settings: Settings,
): Settings {
  const { user, session } = settings.schema;
  const builtIn = {
    ...(user as object === authUsers && { user: users }),
    ...(session as object === authSessions && { session: sessions }),
  };
  return { ...settings, schema: { ...settings.schema, ...builtIn } };
}
