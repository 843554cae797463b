import { UserStatus } from "../../../../../../core/mod.ts";
import { defineAuthorizerHandler } from "../../../../../../triggers/mod.ts";

export const handler = defineAuthorizerHandler()(({ token }) =>
  token === undefined
    ? { userStatus: UserStatus.Anonymous }
    : { userStatus: UserStatus.Authenticated, userId: token }
);
