import { DsqlSigner } from "@aws-sdk/dsql-signer";
import { assertEquals } from "@std/assert";
import {
  checkIamToken,
  type DistSqlPrincipal,
  type TokenExpectation,
} from "../../../distsql/server/iam_token.ts";

const HOST = "abc.dsql.eu-central-1.on.aws";
const principal: DistSqlPrincipal = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "a/secret+with=signs",
  sessionToken: "session/token+=&",
  arn: "arn:aws:iam::123456789012:role/app",
};

function sign(
  options: {
    hostname?: string;
    region?: string;
    expiresIn?: number;
    isAdmin?: boolean;
    credentials?: DistSqlPrincipal;
  } = {},
): Promise<string> {
  const { hostname = HOST, region = "eu-central-1", expiresIn, credentials = principal } = options;
  const signer = new DsqlSigner({ hostname, region, credentials, expiresIn });
  return options.isAdmin ?? true
    ? signer.getDbConnectAdminAuthToken()
    : signer.getDbConnectAuthToken();
}

function fault(token: string, expected: Partial<TokenExpectation> = {}): string {
  const checked = checkIamToken(token, {
    user: "admin",
    hostname: HOST,
    region: "eu-central-1",
    principals: [principal],
    now: Date.now(),
    ...expected,
  });
  return "fault" in checked ? checked.fault : "none";
}

Deno.test("checkIamToken() accepts what the real signer makes", async () => {
  assertEquals(fault(await sign()), "none");
  assertEquals(fault(await sign({ isAdmin: false }), { user: "app" }), "none");
  assertEquals(fault(await sign({ expiresIn: 604_800 })), "none");
});

Deno.test("checkIamToken() gives the principal that signed", async () => {
  const checked = checkIamToken(await sign(), {
    user: "admin",
    hostname: HOST,
    region: "eu-central-1",
    principals: [{ ...principal, accessKeyId: "ANOTHER" }, principal],
    now: Date.now(),
  });
  assertEquals(checked, { principal });
});

Deno.test("checkIamToken() names the fault of a token", async () => {
  const token = await sign();
  const minutes = 60_000;
  const cases: [string, string, Partial<TokenExpectation>][] = [
    ["malformed", "not a token", {}],
    ["malformed", "", {}],
    ["malformed", token.replace("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"), {}],
    ["malformed", token.replace("SignedHeaders=host", "SignedHeaders=host%3Bx-amz-date"), {}],
    ["malformed", token.replace("%2Fdsql%2F", "%2Frds-db%2F"), {}],
    ["host", await sign({ hostname: "other.dsql.eu-central-1.on.aws" }), {}],
    ["action", await sign({ isAdmin: false }), {}],
    ["action", token, { user: "app" }],
    ["unknown-key", token, { principals: [{ ...principal, accessKeyId: "ANOTHER" }] }],
    ["session-token", token, { principals: [{ ...principal, sessionToken: "another" }] }],
    ["session-token", token, { principals: [{ ...principal, sessionToken: undefined }] }],
    ["region", await sign({ region: "us-east-1" }), {}],
    ["signature", token, { principals: [{ ...principal, secretAccessKey: "another" }] }],
    ["signature", token.replace("X-Amz-Expires=900", "X-Amz-Expires=9000"), {}],
    ["signature", token.replace(/Signature=\w{4}/, "Signature=0000"), {}],
    ["signature", token.replace(/X-Amz-Signature=\w+/, "X-Amz-Signature="), {}],
    ["signature", `${token}&Extra=1`, {}],
    ["expired", token, { now: Date.now() + 15 * minutes }],
    ["expired", await sign({ expiresIn: 0 }), { now: Date.now() + 1000 }],
    ["not-yet-valid", token, { now: Date.now() - 6 * minutes }],
    ["none", token, { now: Date.now() - 4 * minutes }],
    ["not-allowed", token, { principals: [{ ...principal, actions: ["DbConnect"] }] }],
  ];
  for (const [expected, given, expectation] of cases) {
    assertEquals(fault(given, expectation), expected, given);
  }
});
