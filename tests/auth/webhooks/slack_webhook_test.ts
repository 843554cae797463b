import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { validateSlackWebhook } from "../../../auth/mod.ts";
import { isAppError } from "../../../errors/mod.ts";
import { atTime } from "../auth_database.ts";

const SECRET = "8f742231b10e8888abcd99yyyzzz85a5";
const SECONDS = 1_893_456_000;
const BODY = "payload=%7B%7D";

function signed(seconds: number | string, version = "v0"): Record<string, string | undefined> {
  const hex = createHmac("sha256", SECRET).update(`${version}:${seconds}:${BODY}`).digest("hex");
  return { "X-Slack-Request-Timestamp": `${seconds}`, "X-Slack-Signature": `${version}=${hex}` };
}

const good = signed(SECONDS);
const MISMATCH = "UNAUTHORIZED: The signature in the X-Slack-Signature header does not match";
const MALFORMED = "UNAUTHORIZED: The X-Slack-Signature header is malformed";

const CASES: [
  name: string,
  headers: object,
  expected: string,
  more?: { body?: string; secret?: string | string[] },
][] = [
  ["a signed request", good, "accepted"],
  ["header names in lower case", {
    "x-slack-request-timestamp": `${SECONDS}`,
    "x-slack-signature": good["X-Slack-Signature"],
  }, "accepted"],
  ["the web's Headers", new Headers(good as Record<string, string>), "accepted"],
  ["one of two secrets", good, "accepted", { secret: ["next", SECRET] }],
  ["another body", good, MISMATCH, { body: `${BODY}x` }],
  ["another time", { ...good, "X-Slack-Request-Timestamp": `${SECONDS + 1}` }, MISMATCH],
  ["another version", signed(SECONDS, "v1"), MALFORMED],
  [
    "a signature without its version",
    { ...good, "X-Slack-Signature": good["X-Slack-Signature"]?.slice(3) },
    MALFORMED,
  ],
  [
    "a request that is too old",
    signed(SECONDS - 301),
    "UNAUTHORIZED: The timestamp in the X-Slack-Request-Timestamp header is older than 300 seconds",
  ],
  [
    "a request from the future",
    signed(SECONDS + 301),
    "UNAUTHORIZED: The timestamp in the X-Slack-Request-Timestamp header is further ahead than 300 seconds",
  ],
  [
    "a time that is no number",
    signed("now"),
    "UNAUTHORIZED: The X-Slack-Request-Timestamp header is malformed",
  ],
  [
    "no time",
    { ...good, "X-Slack-Request-Timestamp": undefined },
    "UNAUTHORIZED: The X-Slack-Request-Timestamp header is missing",
  ],
  [
    "no signature",
    { ...good, "X-Slack-Signature": undefined },
    "UNAUTHORIZED: The X-Slack-Signature header is missing",
  ],
  [
    "an empty secret",
    {},
    "CONFIGURATION: The secret for X-Slack-Signature is missing or empty: set it, each one if it is a list",
    { secret: "" },
  ],
];

for (const [name, headers, expected, { body = BODY, secret = SECRET } = {}] of CASES) {
  Deno.test(`validateSlackWebhook() ${expected === "accepted" ? "accepts" : "refuses"} ${name}`, async () => {
    const check = atTime(
      SECONDS * 1000,
      () => validateSlackWebhook(body, headers as Headers, secret),
    );
    const result = await check.then(
      () => "accepted",
      (error) => isAppError(error) ? `${error.code}: ${error.message}` : Promise.reject(error),
    );
    assertEquals(result, expected);
  });
}
