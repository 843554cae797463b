import { buildValidatedResponse, UserStatus } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";

const Welcome = z.object({ message: z.string() });

export const handler = defineApiHandler({
  auth: "authorizer-optional",
  responseSchema: Welcome,
  openapi: { summary: "A greeting, with or without a session", tags: ["service"] },
})(function welcome({ context, userStatus, userId }) {
  const message = userStatus === UserStatus.Authenticated
    ? `Welcome back, ${userId}`
    : "Welcome. Sign up to keep notes";
  return buildValidatedResponse(context, 200, { message }, Welcome);
});
