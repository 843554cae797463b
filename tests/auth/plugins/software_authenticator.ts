import { Buffer } from "node:buffer";
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** A passkey in software (WebAuthn Level 3, section 6): ES256, attestation `none`. */
export interface SoftwareAuthenticator {
  /** Answers the options of a registration. */
  // deno-lint-ignore no-explicit-any
  register(options: any): object;
  /** Answers the options of a sign-in. */
  // deno-lint-ignore no-explicit-any
  authenticate(options: any): object;
}

const USER_PRESENT = 0x01;
const USER_PRESENT_AND_VERIFIED = 0x05;
const ATTESTED = 0x40;

/** Creates an authenticator for pages of an origin. */
export function createSoftwareAuthenticator(
  origin: string,
  { verifiesUser = true }: { readonly verifiesUser?: boolean } = {},
): SoftwareAuthenticator {
  const id = randomBytes(16);
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  let counter = 0;
  const idText = id.toString("base64url");

  function getAuthData(rpId: string, flags: number, rest: Uint8Array = new Uint8Array()): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(++counter);
    return Buffer.concat([
      createHash("sha256").update(rpId).digest(),
      Buffer.of(flags),
      count,
      rest,
    ]);
  }

  function getClientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }

  return {
    register(options) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(id.length);
      const credential = Buffer.concat([Buffer.alloc(16), length, id, encodeKey(publicKey)]);
      const authData = getAuthData(
        options.rp.id,
        USER_PRESENT_AND_VERIFIED | ATTESTED,
        credential,
      );
      const attestation = encodeMap([
        [encodeText("fmt"), encodeText("none")],
        [encodeText("attStmt"), encodeMap([])],
        [encodeText("authData"), encodeBytes(authData)],
      ]);
      return {
        id: idText,
        rawId: idText,
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: getClientData("webauthn.create", options.challenge).toString("base64url"),
          attestationObject: attestation.toString("base64url"),
          transports: ["internal"],
        },
      };
    },
    authenticate(options) {
      const clientData = getClientData("webauthn.get", options.challenge);
      const flags = verifiesUser ? USER_PRESENT_AND_VERIFIED : USER_PRESENT;
      const authData = getAuthData(options.rpId, flags);
      const signed = Buffer.concat([authData, createHash("sha256").update(clientData).digest()]);
      return {
        id: idText,
        rawId: idText,
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData.toString("base64url"),
          authenticatorData: authData.toString("base64url"),
          signature: sign("sha256", signed, privateKey).toString("base64url"),
        },
      };
    },
  };
}

/** COSE key (RFC 9053, section 7.1.1). */
function encodeKey(key: KeyObject): Buffer {
  const { x, y } = key.export({ format: "jwk" });
  return encodeMap([
    [encodeInteger(1), encodeInteger(2)],
    [encodeInteger(3), encodeInteger(-7)],
    [encodeInteger(-1), encodeInteger(1)],
    [encodeInteger(-2), encodeBytes(Buffer.from(x!, "base64url"))],
    [encodeInteger(-3), encodeBytes(Buffer.from(y!, "base64url"))],
  ]);
}

/** CBOR (RFC 8949), as far as the messages need it. */
function encodeHead(major: number, value: number): Buffer {
  if (value < 24) return Buffer.of(major << 5 | value);
  if (value < 256) return Buffer.of(major << 5 | 24, value);
  return Buffer.of(major << 5 | 25, value >> 8, value & 255);
}

function encodeInteger(value: number): Buffer {
  return value < 0 ? encodeHead(1, -1 - value) : encodeHead(0, value);
}

function encodeText(text: string): Buffer {
  return Buffer.concat([encodeHead(3, text.length), Buffer.from(text)]);
}

function encodeBytes(bytes: Uint8Array): Buffer {
  return Buffer.concat([encodeHead(2, bytes.length), bytes]);
}

function encodeMap(entries: readonly (readonly [Buffer, Buffer])[]): Buffer {
  return Buffer.concat([encodeHead(5, entries.length), ...entries.flat()]);
}
