// deno-lint-ignore-file no-console -- the number of cases is part of the result
import { assertEquals } from "@std/assert";
import { redactText } from "../../observability/redact_text.ts";
import { redactValue } from "../../observability/redact.ts";
import { createRandom } from "../support/random.ts";
import { testSeed } from "../support/seed.ts";

const CASES = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 1_000_000 : 20_000;

/** Names of secrets, as words. */
const NAMES: string[][] = [
  "pass,password,new pass,db pwd,user pwd,pin,pin code,ssn,cvv,otp,totp,email otp,otp code,mfa code,totp secret",
  "signing key,encryption key,master key,api key,private key,session,user session,session id,sid,connect sid",
  "code verifier,pkce verifier,recovery codes,backup code,verification code,x auth,x auth key,x api key,auth token",
  "access token,refresh tokens,client secret,credentials,cookie,signature,connection string,jwt,mnemonic",
].join(",").split(",").map((name) => name.split(" "));

const capitalize = (word: string) => word[0].toUpperCase() + word.slice(1);
const SPELLINGS: ((words: string[]) => string)[] = [
  (words) => words[0] + words.slice(1).map(capitalize).join(""),
  (words) => words.map(capitalize).join(""),
  (words) => words.join("_"),
  (words) => words.join("-"),
  (words) => words.map(capitalize).join("-"),
  (words) => words.join("_").toUpperCase(),
  (words) => words.join("."),
  (words) => `app_${words.join("_")}`,
  (words) => `current${words.map(capitalize).join("")}`,
  (words) => `${words.join("_")}2`,
];

const json = JSON.stringify;
const FORMS: ((name: string, secret: string) => string)[] = [
  (name, secret) => `${name}: ${secret}`,
  (name, secret) => `${name}=${secret}`,
  (name, secret) => `${name} = ${secret}`,
  (name, secret) => `${name}='${secret}'`,
  (name, secret) => `${name}: "${secret}"`,
  (name, secret) => `${name} => '${secret}'`,
  (name, secret) => `${name} := ${secret}`,
  (name, secret) => `{ '${name}': '${secret}', a: 1 }`,
  (name, secret) => `{${name}:[${secret}]}`,
  (name, secret) => json({ [name]: secret, a: 1 }),
  (name, secret) => json({ a: { b: [{ [name]: secret }] } }, null, 2),
  (name, secret) => json({ body: json({ [name]: secret }) }),
  (name, secret) => json({ body: json({ a: json({ [name]: [secret, secret] }) }) }),
  (name, secret) => json(json({ [name]: secret })),
  (name, secret) => json({ body: json({ [name]: secret }) }).slice(0, -3),
  (name, secret) => `https://host.example/path?a=1&${name}=${secret}&b=2`,
  (name, secret) =>
    `/login?to=${encodeURIComponent(`https://host.example/?${name}=${secret}&b=2`)}`,
  (name, secret) => `filter=${encodeURIComponent(json({ [name]: secret }))}`,
  (name, secret) => `a=1&user[${name}]=${secret}`,
  (name, secret) => `--${name} ${secret}`,
  (name, secret) => `--${name}=${secret}`,
  (name, secret) => `<${name}>${secret}</${name}>`,
  (name, secret) => `Key (${name})=(${secret}) already exists`,
  (name, secret) => `Cookie: a=b; ${name}=${secret}; c="${secret}"`,
  (name, secret) => `form-data; name="${name}"\r\n\r\n${secret}\r\n--b--`,
];

Deno.test(`redactText() removes named secrets from ${CASES} texts, and keeps the words around them`, () => {
  const { next: random, pick } = createRandom(testSeed);
  const shown: string[] = [];
  for (let i = 0; i < CASES; i++) {
    const secret = `s${Math.floor(random() * 2 ** 50).toString(36)}Z${
      pick(["", "+/=", "-_.", "%2B", "$!*"])
    }`;
    const text = `before ${pick(FORMS)(pick(SPELLINGS)(pick(NAMES)), secret)}\nafter`;
    for (const safe of [redactText(text), String(redactValue(text))]) {
      const isRedacted = !safe.includes(secret.slice(0, 8)) && safe.startsWith("before ");
      if (!isRedacted || redactText(safe) !== safe) shown.push(`${json(text)} -> ${json(safe)}`);
    }
  }
  console.log(`${CASES} texts, seed ${testSeed}`);
  assertEquals(shown.slice(0, 10), []);
});
