import { createHash } from "node:crypto";

const hashPassword = (password: string) =>
  createHash("sha256").update(password).digest("base64url");

/** Option `emailAndPassword.password` that saves tests the time of scrypt. */
export const FAST_PASSWORDS = {
  hash: (password: string): Promise<string> => Promise.resolve(hashPassword(password)),
  verify: ({ hash, password }: { hash: string; password: string }): Promise<boolean> =>
    Promise.resolve(hashPassword(password) === hash),
};
