import { Buffer } from "node:buffer";
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

/** Client side of a SCRAM-SHA-256 exchange (RFC 5802, RFC 7677), without channel binding. */
export interface ScramClient {
  readonly firstMessage: string;
  /** Answers the server's first message; throws if its nonce does not extend the client's. */
  finalMessage(serverFirst: string): string;
}

function hmac(key: Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", key).update(text).digest();
}

/** Starts an exchange for a password. */
export function createScramClient(password: string): ScramClient {
  const nonce = randomBytes(18).toString("base64");
  const bare = `n=,r=${nonce}`;
  return {
    firstMessage: `n,,${bare}`,
    finalMessage(serverFirst) {
      const fields = new Map(serverFirst.split(",").map((field) => [field[0], field.slice(2)]));
      const joined = fields.get("r") ?? "";
      if (!joined.startsWith(nonce)) {
        throw new Error("the database answered SCRAM with a nonce that is not ours");
      }
      const salted = pbkdf2Sync(
        password,
        Buffer.from(fields.get("s") ?? "", "base64"),
        Number(fields.get("i")),
        32,
        "sha256",
      );
      const clientKey = hmac(salted, "Client Key");
      const withoutProof = `c=biws,r=${joined}`;
      const signature = hmac(
        createHash("sha256").update(clientKey).digest(),
        `${bare},${serverFirst},${withoutProof}`,
      );
      const proof = Buffer.from(clientKey.map((byte, index) => byte ^ signature[index])).toString(
        "base64",
      );
      return `${withoutProof},p=${proof}`;
    },
  };
}
