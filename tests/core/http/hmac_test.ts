import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as nodeCrypto from "node:crypto";
import {
  HMAC_BYTES,
  type HmacAlgorithm,
  type HmacEngine,
  nodeHmac,
  setHmacEngine,
  verifyHmac,
  webHmac,
} from "../../../core/http/hmac.ts";
import { testSeed } from "../../support/seed.ts";
import { anyCharacter } from "../../support/any_character.ts";

const hex = (text: string) => new Uint8Array(text.match(/../g)!.map((pair) => parseInt(pair, 16)));
const repeat = (byte: number, times: number) => new Uint8Array(times).fill(byte);
const text = (value: string) => new TextEncoder().encode(value);

/** RFC 4231 section 4; case 5 is cut to 128 bits and does not apply. */
const RFC_4231: {
  key: Uint8Array;
  data: Uint8Array;
  sha256: string;
  sha384: string;
  sha512: string;
}[] = [
  {
    key: repeat(0x0b, 20),
    data: text("Hi There"),
    sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    sha384:
      "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
    sha512:
      "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
  },
  {
    key: text("Jefe"),
    data: text("what do ya want for nothing?"),
    sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    sha384:
      "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
    sha512:
      "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
  },
  {
    key: repeat(0xaa, 20),
    data: repeat(0xdd, 50),
    sha256: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
    sha384:
      "88062608d3e6ad8a0aa2ace014c8a86f0aa635d947ac9febe83ef4e55966144b2a5ab39dc13814b94e3ab6e101a34f27",
    sha512:
      "fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb",
  },
  {
    key: hex("0102030405060708090a0b0c0d0e0f10111213141516171819"),
    data: repeat(0xcd, 50),
    sha256: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
    sha384:
      "3e8a69b7783c25851933ab6290af6ca77a9981480850009cc5577c6e1f573b4e6801dd23c4a7d679ccf8a386c674cffb",
    sha512:
      "b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3dba91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd",
  },
  {
    key: repeat(0xaa, 131),
    data: text("Test Using Larger Than Block-Size Key - Hash Key First"),
    sha256: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    sha384:
      "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952",
    sha512:
      "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
  },
  {
    key: repeat(0xaa, 131),
    data: text(
      "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.",
    ),
    sha256: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
    sha384:
      "6617178e941f020d351e2f254e8fd32c602420feb0b8fb9adccebb82461e99c5a678cc31e799176d3860e6110c46523e",
    sha512:
      "e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944b6022cac3c4982b10d5eeb55c3e4de15134676fb6de0446065c97440fa8c6a58",
  },
];

const ENGINES: [string, HmacEngine][] = [["webHmac", webHmac], ["nodeHmac", nodeHmac(nodeCrypto)]];

async function mac(
  engine: HmacEngine,
  algorithm: HmacAlgorithm,
  key: Uint8Array,
  parts: (string | Uint8Array)[],
): Promise<string> {
  const result = await engine(
    algorithm,
    { bytes: new Uint8Array(key), imported: new Map() },
    parts,
  );
  return Array.from(result, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

for (const [name, engine] of ENGINES) {
  Deno.test(`${name}() gives the results of RFC 4231`, async () => {
    for (const { key, data, ...expected } of RFC_4231) {
      for (const algorithm of ["sha256", "sha384", "sha512"] as const) {
        assertEquals(await mac(engine, algorithm, key, [data]), expected[algorithm]);
      }
    }
  });

  Deno.test(`${name}() gives the results of RFC 2202 for SHA-1`, async () => {
    assertEquals(
      await mac(engine, "sha1", repeat(0x0b, 20), ["Hi There"]),
      "b617318655057264e28bc0b6fb378c8ef146be00",
    );
    assertEquals(
      await mac(engine, "sha1", text("Jefe"), ["what do ya want ", text("for nothing?")]),
      "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
    );
  });
}

Deno.test("webHmac() and nodeHmac() agree on random keys and parts", async () => {
  const seed = testSeed;
  // deno-lint-ignore no-console -- a failure must be repeatable
  console.info(`TRELLIS_SEED=${seed}`);
  const part = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.uint8Array({ maxLength: 300 }),
    fc.constant("\ud83d"),
    fc.constant("é\u{1f600}"),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(HMAC_BYTES) as HmacAlgorithm[]),
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.array(part, { maxLength: 4 }),
      async (algorithm, key, parts) => {
        const [web, node] = [
          await mac(webHmac, algorithm, key, parts),
          await mac(nodeHmac(nodeCrypto), algorithm, key, parts),
        ];
        assertEquals(web, node);
        assertEquals(web.length, HMAC_BYTES[algorithm] * 2);
      },
    ),
    { seed, numRuns: 100 },
  );
});

/** Runs a check on Web Crypto and gives what `importKey` was called with. */
async function imports(check: (imported: unknown[][]) => Promise<void>): Promise<void> {
  const { subtle } = crypto;
  const importKey = subtle.importKey;
  const imported: unknown[][] = [];
  setHmacEngine(webHmac);
  Object.defineProperty(subtle, "importKey", {
    configurable: true,
    value: (
      ...values: Parameters<typeof importKey>
    ) => (imported.push(values), importKey.apply(subtle, values)),
  });
  try {
    await check(imported);
  } finally {
    Reflect.deleteProperty(subtle, "importKey");
    setHmacEngine(undefined);
  }
}

Deno.test("verifyHmac() imports a key once for each secret and algorithm, and never lets it out again", async () => {
  await imports(async (imported) => {
    const secret = { text: `once ${crypto.randomUUID()}`, encoding: "utf8" } as const;
    for (let i = 0; i < 3; i++) await verifyHmac("sha256", [secret], ["a"], [new Uint8Array(32)]);
    assertEquals(
      imported.map(([format, , hash, isExtractable, uses]) => [format, hash, isExtractable, uses]),
      [
        ["raw", { name: "HMAC", hash: "SHA-256" }, false, ["sign"]],
      ],
    );
    await verifyHmac("sha512", [secret], ["a"], [new Uint8Array(64)]);
    assertEquals(imported.length, 2);
  });
});

Deno.test("verifyHmac() keeps the keys of 1,000 secrets, and lets the oldest go first", async () => {
  await imports(async (imported) => {
    const prefix = crypto.randomUUID();
    const verify = (n: number) =>
      verifyHmac("sha1", [{ text: `${prefix} ${n}`, encoding: "utf8" }], ["a"], [
        new Uint8Array(20),
      ]);
    for (let n = 0; n < 1000; n++) await verify(n);
    assertEquals(imported.length, 1000);
    await verify(0);
    assertEquals(imported.length, 1000);
    await verify(1000);
    await verify(1);
    assertEquals(imported.length, 1001);
    await verify(0);
    assertEquals(imported.length, 1002);
  });
});

Deno.test("verifyHmac() keeps a text as a key of two encodings apart", async () => {
  const key = btoa("what a text of base64 may stand for");
  const [asText, asBase64] = [text(key), text(atob(key))].map((bytes) =>
    new Uint8Array(nodeCrypto.createHmac("sha256", bytes).update("a").digest())
  );
  for (
    const [encoding, good, bad] of [["utf8", asText, asBase64], [
      "base64",
      asBase64,
      asText,
    ]] as const
  ) {
    assertEquals(await verifyHmac("sha256", [{ text: key, encoding }], ["a"], [good]), true);
    assertEquals(await verifyHmac("sha256", [{ text: key, encoding }], ["a"], [bad]), false);
  }
});

Deno.test("verifyHmac() accepts any of the signatures with any of the secrets, at any position", async () => {
  const secrets = ["a", "b", "c"].map((name) => ({
    text: `${name} secret`,
    encoding: "utf8" as const,
  }));
  const good = new Uint8Array(nodeCrypto.createHmac("sha256", "b secret").update("x").digest());
  const bad = new Uint8Array(32);
  for (
    const [signatures, expected] of [[[good], true], [[good, bad], true], [[bad, good], true], [[
      bad,
    ], false]] as const
  ) {
    for (const order of [secrets, secrets.toReversed(), [secrets[1]]]) {
      assertEquals(await verifyHmac("sha256", order, ["x"], signatures), expected);
    }
    assertEquals(await verifyHmac("sha256", [secrets[0], secrets[2]], ["x"], signatures), false);
  }
  assertEquals([
    await verifyHmac("sha256", secrets, ["x"], []),
    await verifyHmac("sha256", [], ["x"], [good]),
  ], [
    false,
    false,
  ]);
});

Deno.test("verifyHmac() takes Web Crypto where the runtime has no node:crypto", async () => {
  const { getBuiltinModule } = process;
  const sign = crypto.subtle.sign;
  let signed = 0;
  Object.defineProperty(crypto.subtle, "sign", {
    configurable: true,
    value: (...values: Parameters<typeof sign>) => (signed++, sign.apply(crypto.subtle, values)),
  });
  setHmacEngine(undefined);
  process.getBuiltinModule = undefined as unknown as typeof getBuiltinModule;
  const signature = hex(RFC_4231[1].sha256);
  const check = () =>
    verifyHmac("sha256", [{ text: "Jefe", encoding: "utf8" }], ["what do ya want for nothing?"], [
      signature,
    ]);
  try {
    assert(await check());
    assertEquals(signed, 1);
    setHmacEngine(undefined);
    process.getBuiltinModule = getBuiltinModule;
    assert(await check());
    assertEquals(signed, 1);
  } finally {
    process.getBuiltinModule = getBuiltinModule;
    Reflect.deleteProperty(crypto.subtle, "sign");
    setHmacEngine(undefined);
  }
});
