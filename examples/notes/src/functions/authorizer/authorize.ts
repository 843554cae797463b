import { defineAuthorizerHandler } from "@trellis/fn/core";
import { findCaller } from "../../authorizer.ts";

// a database that is down is no reason to sign in again
export const handler = defineAuthorizerHandler({ onError: "throw" })(
  function authorize({ token }) {
    return findCaller(token);
  },
);
