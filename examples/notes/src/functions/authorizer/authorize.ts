import { defineAuthorizerHandler } from "@trellis/fn/triggers";
import { findCaller } from "../../authorizer.ts";

// answers 500 instead of 401 if the database is down, so that clients keep their session
export const handler = defineAuthorizerHandler({ onError: "throw" })(
  function authorize({ token }) {
    return findCaller(token);
  },
);
