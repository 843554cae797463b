import { DsqlSigner } from "@aws-sdk/dsql-signer";
import { Signer } from "@aws-sdk/rds-signer";
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createDsqlToken } from "../../../database/providers/distsql.ts";
import { readCredentials, signIamToken } from "../../../database/providers/iam_token.ts";
import { createRdsToken } from "../../../database/providers/rds_token.ts";
import { testSeed } from "../../support/seed.ts";
import { withEnv } from "../../support/with_env.ts";
import { anyCharacter } from "../../support/any_character.ts";

const CREDENTIALS = fc.record({
  accessKeyId: fc.string({ minLength: 1, unit: fc.constantFrom(..."ABZ019/+") }),
  secretAccessKey: fc.string({ minLength: 1, unit: anyCharacter }).filter((text) =>
    text.trim() !== ""
  ),
}, { requiredKeys: ["accessKeyId", "secretAccessKey"] });
const SESSION_TOKEN = fc.option(
  fc.string({ minLength: 1, unit: fc.constantFrom(..."aZ09/+=&%!'()*~-._ ") }),
  { nil: undefined },
);
const HOST = fc.domain();
const REGION = fc.constantFrom("eu-central-1", "us-gov-west-1", "cn-north-1");
const USER = fc.string({ minLength: 1, unit: fc.constantFrom(..."abZ09_-.'()*! ä@") });

const numRuns = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20_000 : 150;
/** The parameters in one order: the AWS SDK appends the signature before the signed headers. */
function sortParameters(token: string): string {
  const [address, query] = token.split("?");
  return `${address}?${query.split("&").sort().join("&")}`;
}

/** Returns the time of a token: the signers of the AWS SDK read the clock themselves. */
function readTime(token: string): Date {
  const [, date] = /X-Amz-Date=(\d{8}T\d{6}Z)/.exec(token)!;
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date)!.slice(1).map(Number);
  const [year, month, ...rest] = parts;
  return new Date(Date.UTC(year, month - 1, ...rest as [number, number, number, number]));
}

Deno.test("signIamToken() makes the tokens of the DSQL signer of the AWS SDK", async () => {
  await fc.assert(
    fc.asyncProperty(
      CREDENTIALS,
      SESSION_TOKEN,
      HOST,
      REGION,
      fc.boolean(),
      async (keys, sessionToken, hostname, region, isAdmin) => {
        const credentials = { ...keys, ...sessionToken === undefined ? {} : { sessionToken } };
        const signer = new DsqlSigner({ hostname, region, credentials });
        const expected = isAdmin
          ? await signer.getDbConnectAdminAuthToken()
          : await signer.getDbConnectAuthToken();
        const parameters = { Action: isAdmin ? "DbConnectAdmin" : "DbConnect" };
        const request = { service: "dsql", host: hostname, region, parameters } as const;
        const token = signIamToken(request, credentials, readTime(expected));
        assertEquals(sortParameters(token), sortParameters(expected));
      },
    ),
    { numRuns, seed: testSeed },
  );
});

Deno.test("signIamToken() makes the tokens of the RDS signer of the AWS SDK", async () => {
  await fc.assert(
    fc.asyncProperty(
      CREDENTIALS,
      SESSION_TOKEN,
      HOST,
      REGION,
      USER,
      async (keys, sessionToken, hostname, region, username) => {
        const credentials = { ...keys, ...sessionToken === undefined ? {} : { sessionToken } };
        const signer = new Signer({ hostname, port: 5432, username, region, credentials });
        const expected = await signer.getAuthToken();
        const parameters = { Action: "connect", DBUser: username };
        const host = `${hostname}:5432`;
        const request = { service: "rds-db", host, region, parameters } as const;
        const token = signIamToken(request, credentials, readTime(expected));
        assertEquals(sortParameters(token), sortParameters(expected));
      },
    ),
    { numRuns, seed: testSeed },
  );
});

const KEYS = { AWS_ACCESS_KEY_ID: "AKIA", AWS_SECRET_ACCESS_KEY: "secret" };

Deno.test("readCredentials() leaves a named profile to the AWS SDK", () => {
  const credentials = { accessKeyId: "AKIA", secretAccessKey: "secret" };
  assertEquals(readCredentials(KEYS), credentials);
  assertEquals(readCredentials({ ...KEYS, AWS_SESSION_TOKEN: "t" }), {
    ...credentials,
    sessionToken: "t",
  });
  assertEquals(readCredentials({ ...KEYS, AWS_PROFILE: "dev" }), undefined);
  assertEquals(readCredentials({ AWS_ACCESS_KEY_ID: "AKIA" }), undefined);
});

Deno.test("createDsqlToken() and createRdsToken() read the variables for each token", async () => {
  const unset = { AWS_PROFILE: undefined, AWS_SESSION_TOKEN: undefined };
  await withEnv({ ...unset, ...KEYS }, async () => {
    const signers = [
      await createDsqlToken({
        host: "a.dsql.eu-central-1.on.aws",
        region: "eu-central-1",
        isAdmin: true,
      }),
      await createRdsToken({
        host: "db.x.eu-central-1.rds.amazonaws.com",
        port: 5432,
        username: "u",
      }),
    ];
    for (const sign of signers) {
      assertEquals((await sign()).includes("X-Amz-Credential=AKIA%2F"), true);
      await withEnv({ AWS_ACCESS_KEY_ID: "ASIANEXT" }, async () => {
        assertEquals((await sign()).includes("X-Amz-Credential=ASIANEXT%2F"), true);
      });
    }
  });
});
