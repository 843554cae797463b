import { type Call, HttpClient } from "./http_client.ts";
import { JSON_HEADERS, pick, type Run, sendAndJudge, sign } from "./traffic.ts";

interface Attack {
  readonly kind: string;
  readonly expected: readonly (number | string)[];
  readonly call: (run: Run, token: string) => Call;
  /** How often, beside the others. */
  readonly weight?: number;
  readonly usesDatabase?: boolean;
}

const post = (
  path: string,
  token: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Call => ({
  method: "POST",
  path,
  headers: { Authorization: `Bearer ${token}`, ...JSON_HEADERS, ...headers },
  body,
});
const get = (path: string, token: string, headers: Record<string, string> = {}): Call => ({
  path,
  headers: { Authorization: `Bearer ${token}`, ...headers },
});
const notes =
  (body: string | Uint8Array, headers?: Record<string, string>) => (_: Run, token: string): Call =>
    post("/notes", token, body, headers);
const hook = (path: string, headers: (run: Run, body: string) => Record<string, string>) =>
(
  run: Run,
): Call => {
  const body = '{"id":"evt_1","type":"x"}';
  return { method: "POST", path, headers: { ...JSON_HEADERS, ...headers(run, body) }, body };
};
const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const manyKeys = JSON.stringify(
  Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 0])),
);

/** Whole requests that must be refused, each with what refuses it. */
const ATTACKS: readonly Attack[] = [
  { kind: "JSON cut off", expected: [400], call: notes('{"title":"x"') },
  { kind: "JSON 100,000 deep", expected: [400], call: notes("[".repeat(100_000)) },
  { kind: "JSON 20,000 keys", expected: [400], call: notes(manyKeys), weight: 0.3 },
  {
    kind: "JSON __proto__",
    expected: [400],
    call: notes('{"title":"x","__proto__":{"admin":true}}'),
  },
  {
    kind: "JSON not UTF-8",
    expected: [400],
    call: notes(new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])),
  },
  { kind: "no body", expected: [400], call: notes("") },
  { kind: "NUL in a text", expected: [400], call: notes('{"title":"a\\u0000b"}') },
  {
    kind: "title too long",
    expected: [400],
    call: notes(JSON.stringify({ title: "x".repeat(201) })),
  },
  {
    kind: "SQL in a title",
    expected: [400],
    call: notes(`{"title":"'; drop table notes; --","labelId":5}`),
  },
  {
    kind: "label that is not there",
    expected: [409],
    call: notes('{"title":"x","labelId":"\' or 1=1"}'),
  },
  {
    kind: "media type text",
    expected: [415],
    call: notes('{"title":"x"}', { "Content-Type": "text/plain" }),
  },
  {
    kind: "media type XML",
    expected: [415],
    call: notes("<x/>", { "Content-Type": "application/xml" }),
  },
  {
    kind: "body compressed",
    expected: [400, 415],
    call: notes("\x1f\x8b\x08", { "Content-Encoding": "gzip" }),
  },
  {
    kind: "body of 300 KB",
    expected: [413],
    call: notes(`{"title":"${"x".repeat(300_000)}"}`),
    weight: 0.3,
  },
  {
    kind: "body of 11 MB",
    expected: [413],
    call: (_, token) => post("/notes", token, "x".repeat(11 * 1024 * 1024)),
    weight: 0.02,
    usesDatabase: false,
  },
  {
    kind: "header of 64 KB",
    expected: [431, "ECONNRESET", "EPIPE"],
    call: (_, token) => get("/notes", token, { "X-Big": "x".repeat(65_536) }),
  },
  {
    kind: "90 headers more",
    expected: [200],
    call: (_, token) => get("/notes", token, manyHeaders()),
  },
  { kind: "token wrong", expected: [401], call: () => get("/notes", crypto.randomUUID()) },
  { kind: "token of 4 KB", expected: [401], call: () => get("/notes", "a".repeat(4096)) },
  { kind: "token cut off", expected: [401], call: (_, token) => get("/notes", token.slice(0, -1)) },
  {
    kind: "token in another case",
    expected: [401],
    call: (_, token) => get("/notes", swapCase(token)),
  },
  { kind: "no token", expected: [401], call: () => ({ path: "/notes" }), usesDatabase: false },
  {
    kind: "another scheme",
    expected: [401],
    call: (_, token) => ({ path: "/notes", headers: { Authorization: `Basic ${token}` } }),
  },
  {
    kind: "static token wrong",
    expected: [401],
    call: () => post("/admin/reindex", "0".repeat(64), ""),
    usesDatabase: false,
  },
  {
    kind: "signature wrong",
    expected: [401],
    call: hook(
      "/hooks/code-host",
      () => ({ "X-Hub-Signature-256": `sha256=${"0".repeat(64)}`, "X-GitHub-Delivery": "x" }),
    ),
    usesDatabase: false,
  },
  {
    kind: "signature missing",
    expected: [401],
    call: hook("/hooks/code-host", () => ({})),
    usesDatabase: false,
  },
  {
    kind: "signature of yesterday",
    expected: [401],
    call: hook("/hooks/payments", ({ secrets }, body) => {
      const time = nowSeconds() - 86_400;
      return {
        "Stripe-Signature": `t=${time},v1=${
          sign(secrets.PAYMENTS_WEBHOOK_SECRET, `${time}.${body}`)
        }`,
      };
    }),
    usesDatabase: false,
  },
  {
    kind: "signature of another body",
    expected: [401],
    call: hook("/hooks/payments", ({ secrets }) => {
      const time = nowSeconds();
      return {
        "Stripe-Signature": `t=${time},v1=${sign(secrets.PAYMENTS_WEBHOOK_SECRET, `${time}.{}`)}`,
      };
    }),
    usesDatabase: false,
  },
  {
    kind: "no such route",
    expected: [404],
    call: () => ({ path: "/no/such/route" }),
    usesDatabase: false,
  },
  {
    kind: "path upwards",
    expected: [404],
    call: () => ({ path: "/notes/../../../etc/passwd" }),
    usesDatabase: false,
  },
  {
    kind: "no such method",
    expected: [405],
    call: () => ({ method: "PUT", path: "/notes" }),
    usesDatabase: false,
  },
  { kind: "id no UUID", expected: [400], call: (_, token) => get("/notes/1%20or%201=1", token) },
  {
    kind: "limit too high",
    expected: [400],
    call: (_, token) => get("/notes?limit=1000000", token),
  },
  {
    kind: "500 values of a parameter",
    expected: [400],
    call: (_, token) => get(`/notes?${"label=a&".repeat(500)}`, token),
  },
  {
    kind: "NUL in a parameter",
    expected: [400],
    call: (_, token) => get("/notes?search=a%00b", token),
  },
  {
    kind: "percent sign alone",
    expected: [200, 400],
    call: (_, token) => get("/notes?search=%", token),
  },
  {
    kind: "foreign Host",
    expected: [403],
    call: () => ({ path: "/health", headers: { Host: "evil.example" } }),
    usesDatabase: false,
  },
  {
    kind: "foreign Origin",
    expected: [403],
    call: () => ({ path: "/health", headers: { Origin: "https://evil.example" } }),
    usesDatabase: false,
  },
  {
    kind: "correlation id with markup",
    expected: [200],
    call: () => ({ path: "/health", headers: { "X-Correlation-Id": "<script>\tx" } }),
    usesDatabase: false,
  },
  {
    kind: "sign up with a bad address",
    expected: [400],
    call: () =>
      post(
        "/auth/sign-up/email",
        "",
        '{"name":"x","email":"no address","password":"long-enough-1"}',
      ),
    weight: 0.3,
  },
  {
    kind: "sign in of nobody",
    expected: [401],
    call: () =>
      post("/auth/sign-in/email", "", '{"email":"nobody@example.com","password":"long-enough-1"}'),
    weight: 0.05,
  },
];

/** Sends whole, bad requests over a kept connection until the run ends. */
export async function sendHostileRequests(
  run: Run,
  token: () => string | undefined,
): Promise<void> {
  const client = new HttpClient(run.port);
  const choices = ATTACKS.map((attack) => [attack.weight ?? 1, attack] as const);
  while (run.isOn()) {
    await run.pace();
    const attack = pick(choices, run.random);
    await sendAndJudge(run, client, attack, attack.call(run, token() ?? "none"));
  }
  client.close();
}

function manyHeaders(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 90 }, (_, i) => [`X-Header-${i}`, "x"]));
}

function swapCase(text: string): string {
  return [...text].map((c) => c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase()).join("");
}
