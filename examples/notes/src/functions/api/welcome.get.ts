import { UserStatus } from "@trellis/fn/core";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";

const Welcome = z.object({ message: z.string() });

export const handler = defineApiHandler({
  auth: "authorizer-optional",
  responses: { 200: Welcome },
  openapi: { summary: "A greeting, with or without a session", tags: ["service"] },
})(function welcome({ userStatus, userId }) {
  const message = userStatus === UserStatus.Authenticated
    ? `Welcome back, ${userId}`
    : "Welcome. Sign up to keep notes";
  return reply(200, { message });
});
