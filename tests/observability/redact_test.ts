import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { checkSync } from "recheck";
import { redactValue } from "../../observability/mod.ts";
import { redactText } from "../../observability/redact_text.ts";
import { REDACTED } from "../../observability/redacted.ts";
import { KNOWN_TOKEN } from "../../observability/redact_text.ts";
import { isSensitiveKey } from "../../observability/sensitive_names.ts";

const SENSITIVE_KEYS = [
  ..."password Password PASSWD userPassword passphrase passcode secret clientSecret client_secret"
    .split(" "),
  ..."token accessToken refresh_token idToken csrf-token X-Amz-Security-Token authorization Authorization"
    .split(" "),
  ..."Proxy-Authorization cookie Set-Cookie cookies apiKey api_key X-Api-Key accessKeyId privateKey"
    .split(" "),
  ..."credentials signature X-Hub-Signature-256 connectionString connection_string jwt cardNumber"
    .split(" "),
  ..."securityCode auth pin ssn otp cvv cvc sessionId session_id pwd".split(" "),
  ..."pass dbPass SMTP_PASS db_pwd userPwd signingKey encryptionKey ENCRYPTION_KEY masterKey".split(
    " ",
  ),
  ..."session sid connect.sid PHPSESSID totp email_otp otpCode mfaCode code_verifier".split(" "),
  ..."recoveryCodes backup_codes verificationCode x-auth X-Auth-Key ssh_key client_key bearer"
    .split(" "),
  ..."client_assertion SAMLResponse mnemonic seedPhrase newPass pass2 JSESSIONID".split(" "),
  ..."ASP.NET_SessionId userSession session-data sess userSid totpSeed totp_url mfa mfaPin".split(
    " ",
  ),
  ..."pinCode user_pin cvv2 cardCvc authHeader proxy-auth creds csrf aesKey privKey".split(" "),
  ..."Ocp-Apim-Subscription-Key x-functions-key pkceVerifier scratchCodes magicLink reset_url"
    .split(" "),
];
const PLAIN_KEYS = [
  ..."user author pinned email path status count opinion pincode_city authored notes shipping"
    .split(" "),
  ..."code key keys monkey keyboard primaryKey key_id option footprint bypass compass passenger"
    .split(" "),
  ..."passCount testsPassed pass_rate pinnedAt sessionCount mapKey designKey referenceKey".split(
    " ",
  ),
  ..."mfaMethod authMode loginCount sessions_count inside side id userId consider statusCode errorCode zipcode postcode"
    .split(
      " ",
    ),
];

Deno.test("isSensitiveKey() knows secrets by name, in any spelling", () => {
  for (const key of SENSITIVE_KEYS) assert(isSensitiveKey(key), key);
  for (const key of PLAIN_KEYS) assertFalse(isSensitiveKey(key), key);
});

Deno.test("isSensitiveKey() knows the names of the line that ends an invocation as its expressions judge them", () => {
  for (const name of ["operation", "duration_ms", "status"]) {
    assertFalse(isSensitiveKey(name), name);
    // another spelling of the name is judged by the expressions
    assertFalse(isSensitiveKey(name.toUpperCase()), name);
  }
});

Deno.test("isSensitiveKey() takes further names, whole and in any case", () => {
  const more = new Set(["iban"]);
  assert(isSensitiveKey("IBAN", more));
  assertFalse(isSensitiveKey("ibanCountry", more));
  assertFalse(isSensitiveKey("iban"));
});

Deno.test("isSensitiveKey() goes on after more names than it remembers", () => {
  for (let i = 0; i < 2500; i++) assertFalse(isSensitiveKey(`field${i}`));
  assert(isSensitiveKey("password"));
});

const JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const TEXTS: [text: string, safe: string][] = [
  ["nothing here", "nothing here"],
  ["Authorization: Bearer abc.def-123==", `Authorization: Bearer ${REDACTED}`],
  ["bearer abc then BEARER def", `bearer ${REDACTED} then BEARER ${REDACTED}`],
  ["Basic dXNlcjpwYXNz", `Basic ${REDACTED}`],
  ["postgres://user:p%40ss@db.example/notes", `postgres://user:${REDACTED}@db.example/notes`],
  ["redis://:hunter2@cache:6379", `redis://:${REDACTED}@cache:6379`],
  ["postgres://user:p@ss@db/notes", `postgres://user:${REDACTED}@db/notes`],
  [
    "Invalid URL: 'postgres://user:p/ss@db/notes'",
    `Invalid URL: 'postgres://user:${REDACTED}@db/notes'`,
  ],
  ['{"a":"db://u:p@h","b":"c@d"}', `{"a":"db://u:${REDACTED}@h","b":"c@d"}`],
  [
    "GET /x?access_token=abc&page=2&api_key=d%20e#f",
    `GET /x?access_token=${REDACTED}&page=2&api_key=${REDACTED}`,
  ],
  ["password=abc&title=x", `password=${REDACTED}&title=x`],
  ["a = b, size=3", "a = b, size=3"],
  [
    'sent {"password": "a\\"b", "n": 1, "pin":1234}',
    `sent {"password": "${REDACTED}", "n": 1, "pin":"${REDACTED}"}`,
  ],
  ['{"title":"x","token":"cut of', `{"title":"x","token":"${REDACTED}"`],
  ["https://example.com:8080/path@here", "https://example.com:8080/path@here"],
  [`token ${JWT} end`, `token ${REDACTED} end`],
  ["password: x", `password: ${REDACTED}`],
  ["password='x y' title=z", `password='${REDACTED}' title=z`],
  ["db_pwd = x, next", `db_pwd = ${REDACTED}, next`],
  ['{"sid" : "x"}', `{"sid" : "${REDACTED}"}`],
  ["{'password': 'x'}", `{'password': '${REDACTED}'}`],
  ["Cookie: a=b; session=x", `Cookie: ${REDACTED}`],
  ["set-cookie: s=1; Path=/\nnext: 1", `set-cookie: ${REDACTED}\nnext: 1`],
  ["Authorization: Token abc def", `Authorization: Token ${REDACTED}`],
  ['-H "authorization: abc" -v', `-H "authorization: ${REDACTED}" -v`],
  ["authorization=abc my-cookie: abc", `authorization=${REDACTED} my-cookie: ${REDACTED}`],
  ["failed: password=x: token=y", `failed: password=${REDACTED} token=${REDACTED}`],
  ["clone https://TOKEN@host/a.git", `clone https://${REDACTED}@host/a.git`],
  ["postgres://user@host/db", "postgres://user@host/db"],
  ["GET /cb?code=abc&state=d&page=2", `GET /cb?code=${REDACTED}&state=${REDACTED}&page=2`],
  [
    "GET /api/auth/reset-password/AbC123dEf?callbackURL=/x",
    `GET /api/auth/reset-password/${REDACTED}?callbackURL=/x`,
  ],
  ['{"all":"reset-password/AbC123dEf"}', `{"all":"reset-password/${REDACTED}"}`],
  ["?to=https%3A%2F%2Fx%2Freset-password%2FAbC1", `?to=https://x/reset-password/${REDACTED}`],
  ["POST /request-password-reset", "POST /request-password-reset"],
  ["/device?user_code=ABCD-EFGH", `/device?user_code=${REDACTED}`],
  ["https://x/?key=abc", `https://x/?key=${REDACTED}`],
  ["https://x/?sv=1&sig=a%2Bb", `https://x/?sv=1&sig=${REDACTED}`],
  ["code=23505 key=users_pkey", "code=23505 key=users_pkey"],
  ["ghp_16C7e42F292c6912E7710c838347Ae178B4a leaked", `${REDACTED} leaked`],
  ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", REDACTED],
  ["xoxb-123456789012-abcdefABCDEF", REDACTED],
  ["key AKIAIOSFODNN7EXAMPLE used", `key ${REDACTED} used`],
  [
    "re_authentication_required and task_run_finished",
    "re_authentication_required and task_run_finished",
  ],
  ["-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- after", `${REDACTED} after`],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIE", REDACTED],
  ["password => x y", `password => ${REDACTED} y`],
  ["user[password]=x&a=1", `user[password]=${REDACTED}&a=1`],
  ["Key (token)=(x) already exists", `Key (token)=${REDACTED} already exists`],
  ["--db-password 'x' --page 5", `--db-password '${REDACTED}' --page 5`],
  ["ALTER ROLE x PASSWORD 'it''s'; next", `ALTER ROLE x PASSWORD '${REDACTED}'; next`],
  ["<a><b:pin x='1'>5</b:pin></a>", `<a><b:pin x='1'>${REDACTED}</b:pin></a>`],
  ['{\\"password\\":\\"x\\",\\"a\\":1}', `{\\"password\\":\\"${REDACTED}\\",\\"a\\":1}`],
  ['tokens: ["x", "y"], a: 1', `tokens: ${REDACTED}, a: 1`],
  ['"tokens":["x","cut of', `"tokens":"${REDACTED}"`],
  ['Cookie: a="x"; b=y', `Cookie: ${REDACTED}`],
  ["Cookie: secret of mine", `Cookie: ${REDACTED}`],
  ["X-Auth-Key: a b\nHost: c", `X-Auth-Key: ${REDACTED}\nHost: c`],
  ["https://TOKEN:x-oauth-basic@host/a", `https://${REDACTED}@host/a`],
  ["https:\\/\\/TOKEN@host", `https:\\/\\/${REDACTED}@host`],
  ["/cb#code=abc&state=x", `/cb#code=${REDACTED}&state=${REDACTED}`],
  ["/cb?a=1&amp;code=abc", `/cb?a=1&amp;code=${REDACTED}`],
  ["/login?to=%2Fcb%3Fcode%3Dabc%26a%3D1", `/login?to=/cb?code=${REDACTED}&a=1`],
  ["filter=%7B%22pin%22%3A%2212%22%7D", `filter={"pin":"${REDACTED}"}`],
  ["a\\u003d1\\u0026token\\u003dabc", `a=1&token=${REDACTED}`],
  ["bearer%20abc", `bearer%20${REDACTED}`],
  ["/login?to=%2Fnotes%3Fpage%3D1", "/login?to=%2Fnotes%3Fpage%3D1"],
  ["\\nghp_16C7e42F292c6912E7710c838347Ae178B4a", `\\n${REDACTED}`],
  [
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: A-1\n\nMIIE\n-----END RSA PRIVATE KEY----- x",
    `${REDACTED} x`,
  ],
  [
    'Content-Disposition: form-data; name="pin"\r\n\r\n12 34\r\n--b--',
    `Content-Disposition: form-data; name="pin"\r\n\r\n${REDACTED}\n--b--`,
  ],
  ["at f (/srv/auth/session_token.ts:12:3)", "at f (/srv/auth/session_token.ts:12:3)"],
  ["ECONNREFUSED https://auth:8080/x", "ECONNREFUSED https://auth:8080/x"],
  [`Unexpected token '}', "{"a":}" is no JSON`, `Unexpected token '}', "{"a":}" is no JSON`],
  ["at 2026-11-22T08:05:06.000Z in file.ts:3:14", "at 2026-11-22T08:05:06.000Z in file.ts:3:14"],
];

for (const [text, safe] of TEXTS) {
  Deno.test(`redactText() makes ${JSON.stringify(safe)} of a text`, () =>
    assertEquals(redactText(text), safe));
}

Deno.test("redactText() leaves a text as it is when it runs a second time", () => {
  for (const [, safe] of TEXTS) assertEquals(redactText(safe), safe);
});

Deno.test("redactText() finds the tokens of a known form without back-tracking", () => {
  // a look-behind makes the checker search at random, and one search of many ends with a false alarm
  const { status } = checkSync(KNOWN_TOKEN.source, "g", { randomSeed: 1, timeout: 120_000 });
  assertEquals(status, "safe");
});

Deno.test("redactText() shortens a long text and says how long it was", () => {
  const text = redactText("x".repeat(10_000));
  assertEquals(text.length < 8300, true);
  assertStringIncludes(text, "(10000 characters)");
  assertEquals(redactText("x".repeat(8192)).length, 8192);
});

Deno.test("redactText() takes a secret out that the cut would halve", () => {
  assertFalse(redactText(`${"x ".repeat(4090)}Bearer ${"s".repeat(100)}`).includes("ss"));
});

Deno.test("redactValue() takes values out by key at any depth, and keeps booleans and empty ones", () => {
  assertEquals(
    redactValue({
      user: "ada",
      password: "hunter2",
      pin: 1234,
      token: { value: "x" },
      cookies: ["a=b"],
      secret: true,
      apiKey: null,
      otp: undefined,
      nested: [{ deep: { clientSecret: "x", name: "n" } }],
    }),
    {
      user: "ada",
      password: REDACTED,
      pin: REDACTED,
      token: REDACTED,
      cookies: REDACTED,
      secret: true,
      apiKey: null,
      otp: undefined,
      nested: [{ deep: { clientSecret: REDACTED, name: "n" } }],
    },
  );
});

Deno.test("redactValue() takes values out of texts that are JSON, at every level", () => {
  const body = JSON.stringify({
    a: { tokens: ["x"], iban: "DE1" },
    list: [JSON.stringify({ password: "x" })],
    keep: 1,
  });
  const { event } = redactValue({ event: { body } }, new Set(["iban"])) as {
    event: { body: string };
  };
  assertEquals(JSON.parse(event.body), {
    a: { tokens: REDACTED, iban: REDACTED },
    list: [`{"password":"${REDACTED}"}`],
    keep: 1,
  });
  for (const text of ["[not json", "{", "[REDACTED]"]) assertEquals(redactValue(text), text);
});

Deno.test("redactValue() takes values out of JSON among words, and of JSON in JSON", () => {
  const secret = { b: JSON.stringify({ password: "x", name: "n" }) };
  const safe = { b: JSON.stringify({ password: REDACTED, name: "n" }) };
  assertEquals(
    redactValue(`got ${JSON.stringify(secret)} here`),
    `got ${JSON.stringify(safe)} here`,
  );
  assertEquals(
    redactValue(JSON.stringify(JSON.stringify(secret))),
    JSON.stringify(JSON.stringify(safe)),
  );
  assertEquals(redactValue('got { "a": 1 } here'), 'got { "a": 1 } here');
});

Deno.test("redactValue() takes values out of lists of names and values", () => {
  const list = {
    args: ["--password", "x", "--page", "2"],
    headers: [["cookie", "x"], ["host", "h"]],
  };
  assertEquals(redactValue(list), {
    args: ["--password", REDACTED, "--page", "2"],
    headers: [["cookie", REDACTED], ["host", "h"]],
  });
  assertEquals(redactValue([{ name: "token", value: "x" }, { key: "page", value: "2" }]), [
    { name: "token", value: REDACTED },
    { key: "page", value: "2" },
  ]);
  assertEquals(redactValue({ required: ["password", "email"] }), {
    required: ["password", "email"],
  });
  assertEquals(redactValue({ query: { code: "x" }, "token=x": 1 }), {
    query: { code: REDACTED },
    [`token=${REDACTED}`]: REDACTED,
  });
});

Deno.test("redactValue() takes further key names", () => {
  assertEquals(redactValue({ Iban: "DE1", a: [{ IBAN: "DE2" }] }, new Set(["iban"])), {
    Iban: REDACTED,
    a: [{ IBAN: REDACTED }],
  });
});

class Point {
  x = 1;
  password = "hunter2";
}

const VALUES: [name: string, value: unknown, copy: unknown][] = [
  ["a Map", new Map<unknown, unknown>([["password", "x"], ["a", 1]]), { password: REDACTED, a: 1 }],
  ["a Set", new Set(["Bearer abc", 1]), [`Bearer ${REDACTED}`, 1]],
  ["a Date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["an invalid Date", new Date(NaN), "Invalid Date"],
  ["a BigInt", 12345678901234567890n, "12345678901234567890"],
  ["bytes", new Uint8Array(5), "[5 bytes]"],
  ["NaN", NaN, "NaN"],
  ["Infinity", -Infinity, "-Infinity"],
  ["a function", () => 1, "[function]"],
  ["a symbol", Symbol("secret"), "[symbol]"],
  ["an instance of a class", new Point(), { x: 1, password: REDACTED }],
  ["toJSON", { toJSON: () => ({ password: "x", a: 1 }) }, { password: REDACTED, a: 1 }],
  [
    "a URL with a password",
    new URL("https://u:p@example.com/"),
    `https://${REDACTED}@example.com/`,
  ],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  ["null", null, null],
  ["undefined", undefined, undefined],
  ["undefined in a list", [undefined], [null]],
];

for (const [name, value, copy] of VALUES) {
  Deno.test(`redactValue() copies ${name}`, () => assertEquals(redactValue(value), copy));
}

Deno.test("redactValue() marks what cannot be read, and goes on beside it", () => {
  const getter = {
    get bad(): never {
      throw new Error("no");
    },
  };
  const proxy = new Proxy({}, {
    get(): never {
      throw new Error("no");
    },
    getPrototypeOf(): never {
      throw new Error("no");
    },
  });
  const { proxy: revoked, revoke } = Proxy.revocable({}, {});
  revoke();
  const text = JSON.stringify(redactValue({ getter, proxy, revoked, a: 1 }));
  assertEquals(
    text,
    '{"getter":"[Unreadable]","proxy":"[Unreadable]","revoked":"[Unreadable]","a":1}',
  );
});

Deno.test("redactValue() ends a cycle, and shows a repeated value", () => {
  const a: Record<string, unknown> = { shared: [1] };
  a.self = a;
  a.again = a.shared;
  assertEquals(redactValue(a), { shared: [1], self: "[Circular]", again: [1] });
  const endless: Record<string, unknown> = { toJSON: (): unknown => ({ endless }) };
  JSON.stringify(redactValue(endless));
});

Deno.test("redactValue() cuts what is deep, long or wide", () => {
  let deep: unknown = "bottom";
  for (let i = 0; i < 100_000; i++) deep = { deep };
  assertStringIncludes(JSON.stringify(redactValue(deep)), "[Truncated]");
  const list = redactValue(Array.from({ length: 1000 }, (_, i) => i)) as unknown[];
  assertEquals([list.length, list.at(-1)], [201, "… (1000 items)"]);
  const wide = redactValue(
    Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i])),
  ) as object;
  assertEquals(Object.keys(wide).length, 200);
});

Deno.test("redactValue() makes a property, not a prototype, of the key __proto__", () => {
  const copy = redactValue(JSON.parse('{"__proto__":{"polluted":true},"password":"x"}')) as Record<
    string,
    unknown
  >;
  assertEquals(Object.getPrototypeOf(copy), Object.prototype);
  assertEquals(copy.polluted, undefined);
  assertEquals(JSON.stringify(copy), '{"__proto__":{"polluted":true},"password":"[REDACTED]"}');
});

Deno.test("redactValue() leaves its argument as it was", () => {
  const value = { password: "hunter2", list: [{ token: "t" }] };
  redactValue(value);
  assertEquals(value, { password: "hunter2", list: [{ token: "t" }] });
});

Deno.test("isSensitiveKey() knows compound and abbreviated names, and not the words they are part of", () => {
  const secret =
    "rootPw adminPw creditCard debit_card socialSecurityNumber securityAnswer assertion " +
    "stripeKey dataKey mac_key connStr conn_string kubeconfig KUBECONFIG";
  const plain =
    "assertions passage keyboard creditCardType assertionError dataset metadata pwaEnabled " +
    "securityGroup socialLinks cardinality";
  for (const key of secret.split(" ")) assert(isSensitiveKey(key), key);
  for (const key of plain.split(" ")) assertFalse(isSensitiveKey(key), key);
});

Deno.test("redactText() takes out tokens by their form, webhooks of chat services and users of curl", () => {
  const bot = `123456789:${"Ab1_-".repeat(7)}`;
  const texts: [text: string, secret: string][] = [
    ["NRAK-ABCDEF0123456789ABCDEF01234", "ABCDEF"],
    ["figd_abcDEF0123456789abcdef", "abcDEF"],
    ["napi_abcDEF0123456789abcdefghij", "abcDEF"],
    [`key-${"0123456789abcdef".repeat(2)}`, "0123456789"],
    [`abc8Q~${"aB3.-".repeat(6)}x`, "aB3"],
    [`${"aB3dE6g".repeat(2)}.atlasv1.${"aB3dE".repeat(12)}`, "aB3dE"],
    [`https://api.telegram.org/bot${bot}/sendMessage`, bot],
    ["https://hooks.slack.com/services/T000/B000/hunter2", "hunter2"],
    ["https://discord.com/api/webhooks/123/hunter2", "hunter2"],
    ["https://x.webhook.office.com/webhookb2/hunter2@a/b", "hunter2"],
    ["https://chat.googleapis.com/v1/spaces/A/messages?x=hunter2", "hunter2"],
    ["curl -s -u ada:hunter2 https://example.com", "hunter2"],
    ["**password**: hunter2", "hunter2"],
    ["**password:** hunter2", "hunter2"],
  ];
  for (const [text, secret] of texts) assertFalse(redactText(`a ${text} b`).includes(secret), text);
});

Deno.test("redactText() hides the values of fields of forms, and tokens of letters only", () => {
  const texts: [text: string, safe: string][] = [
    [
      '<input type="hidden" name="csrf" value="abc def">',
      `<input type="hidden" name="csrf" value="${REDACTED}">`,
    ],
    ["<input value='a b' name='csrf_token'>", `<input value='${REDACTED}' name='csrf_token'>`],
    ["<INPUT name=csrf value=abc><p>", `<INPUT name=csrf value=${REDACTED}><p>`],
    ['<meta name="csrf-token" content="abc">', `<meta name="csrf-token" content="${REDACTED}">`],
    [
      '{"html":"<input name=\\"csrf\\" value=\\"a b\\">"}',
      `{"html":"<input name=\\"csrf\\" value=\\"${REDACTED}\\">"}`,
    ],
    [`<input name="csrf" value="${"x".repeat(3000)}`, `<input name="csrf" value="${REDACTED}`],
    ["hf_abcdefghijklmnopqrstuvwxyzabcdefgh", REDACTED],
  ];
  for (const [text, safe] of texts) {
    assertEquals(redactText(text), safe);
    assertEquals(redactText(safe), safe);
  }
});

Deno.test("redactText() leaves ordinary lines alone", () => {
  const lines = [
    "assertion failed at line 12",
    "a passage about the keyboard, **bold**: text and 2 * 3: six",
    "commit 4b7f131b02a912fd08d2b5f30a4b20323b805966",
    "request 0d9f1c1e-4d3b-4c55-9a43-8a4a9e8a3f10 took 12 ms at 2026-11-24T01:10:29.123Z",
    "GET https://api.example.com/v1/spaces/12 200, sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "curl https://example.com -u",
    '<input name="page" value="12 of 30"> <meta name="viewport" content="width=device-width">',
    "pk_users_with_a_rather_long_name and re_authentication_was_required_again",
  ];
  for (const line of lines) assertEquals(redactText(line), line);
});

Deno.test("redactValue() hides values of raw headers, and secrets that are names", () => {
  const token = "ghp_0123456789abcdefABCDEF0123456789abcd";
  assertEquals(
    redactValue({ rawHeaders: ["Host", "a.example", "Cookie", "sid=1"], [token]: 1 }),
    { rawHeaders: ["Host", "a.example", "Cookie", REDACTED], [REDACTED]: 1 },
  );
});
