import { assert, assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { setHmacEngine, webHmac } from "../../../core/http/hmac.ts";
import { readSessionToken } from "../../../auth/cookies/session_token.ts";

const SECRET = "a secret of some length";
const TOKEN = "hK3vT9xQ2mW8rB5nY7cJ4pL6sD1fG0aZ";

function sign(token: string, { secret = SECRET, algorithm = "sha256" } = {}): string {
  return `${token}.${createHmac(algorithm, secret).update(token).digest("base64")}`;
}

const SIGNED = sign(TOKEN);

const CASES: [what: string, given: unknown, expected: string | undefined][] = [
  ["a token", TOKEN, TOKEN],
  ["one character", "!", "!"],
  [
    "every character that a header carries as one word",
    "~!\"#$%&'()*+,-/:;<=>?@[\\]^_`{|}",
    "~!\"#$%&'()*+,-/:;<=>?@[\\]^_`{|}",
  ],
  ["4,096 characters", "a".repeat(4096), "a".repeat(4096)],
  ["a signed token", SIGNED, TOKEN],
  ["a signed token, percent-encoded", encodeURIComponent(SIGNED), TOKEN],
  ["a percent sign without a signature", "a%2Bb", "a%2Bb"],
  ["a signed token with a percent sign that encodes nothing", sign("a%b"), "a%b"],
  ["nothing", "", undefined],
  ["4,097 characters", "a".repeat(4097), undefined],
  ["a space", "a b", undefined],
  ["a line break", `${TOKEN}\n`, undefined],
  ["a NUL byte", `${TOKEN}\0`, undefined],
  ["a character beyond ASCII", "tökén", undefined],
  ["no text", 7, undefined],
  ["a list of one text", [TOKEN], undefined],
  ["null", null, undefined],
  ["a token signed with another secret", sign(TOKEN, { secret: "another" }), undefined],
  ["another token's signature", SIGNED.replace("h", "H"), undefined],
  ["a signature by another hash", sign(TOKEN, { algorithm: "sha1" }), undefined],
  ["a signature that is cut", SIGNED.slice(0, -4), undefined],
  ["a signature without its padding", SIGNED.slice(0, -1), undefined],
  ["a signature that is no base64", `${TOKEN}.${"*".repeat(44)}`, undefined],
  ["a full stop without a signature", `${TOKEN}.`, undefined],
  ["a signature without a token", sign(""), undefined],
  ["a second full stop", `${SIGNED}.`, undefined],
  ["a second full stop in the token", sign(`${TOKEN}.x`), undefined],
  [
    "a signed token with a line break, percent-encoded",
    encodeURIComponent(sign("a\nb")),
    undefined,
  ],
  ["a full stop that is percent-encoded", SIGNED.replace(".", "%2E"), SIGNED.replace(".", "%2E")],
];

for (const [what, given, expected] of CASES) {
  Deno.test(`readSessionToken() ${expected === undefined ? "refuses" : "reads"} ${what}`, async () => {
    assertEquals(await readSessionToken(given, SECRET), expected);
  });
}

Deno.test("readSessionToken() waits for nothing but Web Crypto", async () => {
  assertEquals(readSessionToken(TOKEN, SECRET), TOKEN);
  assertEquals(readSessionToken("a b.c", SECRET), undefined);
  assertEquals(readSessionToken(SIGNED, SECRET), TOKEN);
  setHmacEngine(webHmac);
  try {
    const pending = readSessionToken(SIGNED, SECRET);
    assert(pending instanceof Promise);
    assertEquals(await pending, TOKEN);
    assertEquals(await readSessionToken(SIGNED.replace("h", "H"), SECRET), undefined);
  } finally {
    setHmacEngine(undefined);
  }
});
