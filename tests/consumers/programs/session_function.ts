// A function behind a session, with postgres.js as its driver.
import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";
import { configureSessionAuth } from "@trellis/fn/auth";
import { getDrizzleClient } from "@trellis/fn/database";

const getDb = () =>
  getDrizzleClient({
    provider: "serverless-pg",
    connectionString: "postgres://nobody:x@127.0.0.1:1/none",
    connectTimeout: 1,
  });
configureSessionAuth(getDb, {
  secret: "0123456789abcdef0123456789abcdef",
  baseURL: "https://api.example.com",
});

export const handler = defineApiHandler({ auth: "session" })(function whoAmI({ userId, context }) {
  return buildValidatedResponse(context, 200, { userId });
});
