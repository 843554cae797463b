import { assertEquals, assertFalse } from "@std/assert";
import { createHash, createHmac } from "node:crypto";
import { validateTwilioWebhook } from "../../../auth/mod.ts";
import { isAppError } from "../../../errors/mod.ts";

const TOKEN = "12345";
const URL_OF_FORM = "https://mycompany.com/myapp.php?foo=1&bar=2";
const FORM =
  "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212";
// the example of Twilio's documentation
const SIGNATURE = "RSOYDt4T1cUTdK1PDd93/VVr8B8=";
const MISMATCH = "UNAUTHORIZED: The signature in the X-Twilio-Signature header does not match";
const MALFORMED = "UNAUTHORIZED: The X-Twilio-Signature header is malformed";

const sign = (data: string) => createHmac("sha1", TOKEN).update(data).digest("base64");
const JSON_BODY = '{"a":1}';
const hashed = (body: string) =>
  `https://example.com/json?bodySHA256=${createHash("sha256").update(body).digest("hex")}`;
const bytes = (text: string) => new TextEncoder().encode(text);

interface Request {
  body?: string | Uint8Array | null;
  signature?: string;
  secret?: string | string[];
  url?: string;
}

const CASES: [name: string, request: Request, expected: string][] = [
  ["the documented example", {}, "accepted"],
  ["a body of bytes", { body: bytes(FORM) }, "accepted"],
  ["parameters in another order", { body: FORM.split("&").reverse().join("&") }, "accepted"],
  ["one of two tokens", { secret: ["next", TOKEN] }, "accepted"],
  ["an address with the port of its scheme", {
    url: "https://mycompany.com:443/myapp.php?foo=1&bar=2",
  }, "accepted"],
  ["a signature over the address with a port", {
    signature: sign("http://a.test:80/"),
    url: "http://a.test/",
    body: "",
  }, "accepted"],
  ["a signature over the address without a port", {
    signature: sign("http://a.test/"),
    url: "http://a.test:8080/",
    body: "",
  }, "accepted"],
  ["an address that was not normalized", {
    signature: sign("https://A.test/it's"),
    url: "https://A.test/it's",
    body: "",
  }, "accepted"],
  [
    "no body",
    { signature: sign("https://a.test/?x=1"), url: "https://a.test/?x=1", body: null },
    "accepted",
  ],
  ["the same name several times", {
    signature: sign("https://a.test/a1a2b"),
    url: "https://a.test/",
    body: "b=&a=2&a=1&a=2",
  }, "accepted"],
  ["a multi-byte value", {
    signature: sign("https://a.test/Bodyé 😀"),
    url: "https://a.test/",
    body: "Body=%C3%A9+%F0%9F%98%80",
  }, "accepted"],
  ["JSON and its hash", {
    signature: sign(hashed(JSON_BODY)),
    url: hashed(JSON_BODY),
    body: JSON_BODY,
  }, "accepted"],
  [
    "another body than the hash's",
    { signature: sign(hashed(JSON_BODY)), url: hashed(JSON_BODY), body: "{}" },
    "UNAUTHORIZED: The body does not match the parameter bodySHA256",
  ],
  [
    "an empty hash",
    {
      signature: sign("https://a.test/?bodySHA256="),
      url: "https://a.test/?bodySHA256=",
      body: "{}",
    },
    "UNAUTHORIZED: The body does not match the parameter bodySHA256",
  ],
  ["another path", { url: URL_OF_FORM.replace("myapp", "other") }, MISMATCH],
  ["another query", { url: `${URL_OF_FORM}&baz=3` }, MISMATCH],
  ["http for https", { url: URL_OF_FORM.replace("https", "http") }, MISMATCH],
  ["another parameter", { body: `${FORM}&x=1` }, MISMATCH],
  ["another value", { body: FORM.replace("1234&", "1235&") }, MISMATCH],
  ["another token", { secret: "54321" }, MISMATCH],
  [
    "a signature in hex",
    { signature: createHmac("sha1", TOKEN).update(URL_OF_FORM).digest("hex") },
    MALFORMED,
  ],
  ["no signature", { signature: "" }, "UNAUTHORIZED: The X-Twilio-Signature header is missing"],
  [
    "an empty token",
    { secret: "" },
    "CONFIGURATION: The secret for X-Twilio-Signature is missing or empty: set it, each one if it is a list",
  ],
  [
    "a path for an address",
    { url: "/sms" },
    "CONFIGURATION: The url of a webhook must be absolute, such as https://api.example.com/sms",
  ],
];

for (const [name, request, expected] of CASES) {
  Deno.test(`validateTwilioWebhook() ${expected === "accepted" ? "accepts" : "refuses"} ${name}`, async () => {
    const { body = FORM, signature = SIGNATURE, secret = TOKEN, url = URL_OF_FORM } = request;
    const result = await validateTwilioWebhook(body, signature, secret, url).then(
      () => "accepted",
      (error) => isAppError(error) ? `${error.code}: ${error.message}` : Promise.reject(error),
    );
    assertEquals(result, expected);
    assertFalse(result.includes(TOKEN));
  });
}
