import { definePrecompiledTable } from "../../database/precompiled/table.ts";
import type * as tables from "../session_tables.ts";

const CREATED_AND_UPDATED = { createdAt: "created_at", updatedAt: "updated_at" };

/** The names of the table `users`, in a bundle without drizzle. */
export const authUsers = /* @__PURE__ */ definePrecompiledTable("users", {
  id: "id",
  name: "name",
  email: "email",
  emailVerified: "email_verified",
  image: "image",
  ...CREATED_AND_UPDATED,
}) as typeof tables.authUsers;

/** The names of the table `sessions`, in a bundle without drizzle. */
export const authSessions = /* @__PURE__ */ definePrecompiledTable("sessions", {
  id: "id",
  expiresAt: "expires_at",
  token: "token",
  ...CREATED_AND_UPDATED,
  ipAddress: "ip_address",
  userAgent: "user_agent",
  userId: "user_id",
}) as typeof tables.authSessions;
