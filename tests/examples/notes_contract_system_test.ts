import { assert, assertEquals } from "@std/assert";
import { createClient, unwrap } from "@trellis/fn/client";
import fc from "fast-check";
import { createHmac } from "node:crypto";
import type { routes } from "../../examples/notes/api_types.ts";
import { createResponseCheck } from "../support/described_response.ts";
import {
  choose,
  createValueGenerator,
  type DescribedOperation,
  generateBodyText,
  generateQuery,
  listOperations,
} from "../support/generated_requests.ts";
import { type NotesProcess, startNotes } from "../support/notes_process.ts";
import { testSeed } from "../support/seed.ts";
import { freePort } from "../support/free_port.ts";

// deno-lint-ignore no-explicit-any
type Json = any;

const document: Json = JSON.parse(
  await Deno.readTextFile(new URL("../../examples/notes/openapi.json", import.meta.url)),
);
const REQUESTS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 10_000 : 300;

const AUTH_REQUESTS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 10_000 : 150;
const ALL_OPERATIONS = listOperations(document);
/** The operations of the project's own handlers. */
const OPERATIONS = ALL_OPERATIONS.filter(({ path }) => !path.startsWith("/auth/"));
/** The operations that better-auth serves. */
const AUTH_OPERATIONS = ALL_OPERATIONS.filter(({ path }) => path.startsWith("/auth/"));

const NO_NOTE = "6d5f1f0e-3b86-4a3c-9d0a-111111111111";

interface GeneratedRequest {
  readonly path: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}

interface Known {
  readonly tokens: readonly string[];
  readonly noteIds: readonly string[];
  readonly secrets: Record<string, string>;
}

const generateValue = createValueGenerator(document, {
  text: fc.constantFrom("todo", "done", "idea"),
});

function generateBody(
  path: string,
  operation: Json,
  fits: boolean,
): fc.Arbitrary<string | undefined> {
  const schema = operation.requestBody?.content["application/json"].schema;
  const event = fc.record({ id: fc.uuid(), type: fc.constant("paid") });
  return generateBodyText(
    path.startsWith("/hooks/") ? event : generateValue(schema ?? {}, fits),
    fits,
  );
}

/** Requests that fit the document, and as many that do not in any of their parts. */
function generateRequest(
  operations: readonly DescribedOperation[],
  known: Known,
): fc.Arbitrary<GeneratedRequest> {
  return fc.tuple(fc.constantFrom(...operations), fc.boolean()).chain(([operation, fits]) =>
    generateOf(operation, known, fits)
  );
}

function generateOf(
  { path, method, operation }: DescribedOperation,
  { tokens, noteIds, secrets }: Known,
  fits: boolean,
): fc.Arbitrary<GeneratedRequest> {
  const token = path.startsWith("/admin/") ? secrets.API_BEARER_TOKEN : tokens[0];
  return fc.record({
    noteId: fc.constantFrom(...noteIds).chain((id) =>
      choose(fits, id, NO_NOTE, "x", "%20", "..%2f")
    ),
    query: generateQuery(operation, fits, generateValue),
    token: choose<string | undefined>(fits, token, ...tokens, "wrong", "", undefined),
    type: choose(fits, "application/json", "text/plain", "application/json; charset=latin1", "a/b"),
    key: fc.uuid().chain((key) =>
      choose<string | undefined>(fits, key, undefined, "k1", "k2", "x".repeat(300), "a b")
    ),
    body: method === "get" ? fc.constant(undefined) : generateBody(path, operation, fits),
    isSigned: choose(fits, true, false),
  }).map(({ noteId, query, token, type, key, body, isSigned }) => {
    return {
      path,
      method,
      url: `${path.replace("{noteId}", noteId).replace(/\{\w+\}/, "x1")}?${query}`,
      headers: {
        ...token !== undefined && { Authorization: `Bearer ${token}` },
        ...body !== undefined && { "Content-Type": type },
        ...key !== undefined && { "Idempotency-Key": key },
        ...isSigned && sign(secrets, path, body ?? ""),
      },
      body,
    };
  });
}

function sign(secrets: Known["secrets"], path: string, body: string): Record<string, string> {
  const hmac = (secret: string, text: string) =>
    createHmac("sha256", secret).update(text).digest("hex");
  if (path === "/hooks/code-host") {
    const signature = hmac(secrets.CODE_HOST_WEBHOOK_SECRET, body);
    return { "X-Hub-Signature-256": `sha256=${signature}`, "X-GitHub-Delivery": hmac("d", body) };
  }
  const at = Math.floor(Date.now() / 1000);
  const signature = hmac(secrets.PAYMENTS_WEBHOOK_SECRET, `${at}.${body}`);
  return { "Stripe-Signature": `t=${at},v1=${signature}` };
}

async function signUp(notes: NotesProcess, email: string): Promise<string> {
  let token = "";
  const session = { getToken: () => token, setToken: (given: string) => void (token = given) };
  const client = createClient<routes>({ baseUrl: notes.url, session });
  await unwrap(
    client.POST("/auth/sign-up/email", {
      body: { name: "Test", email, password: "correct-horse-battery" },
    }),
  );
  return token;
}

Deno.test("the notes example answers its generated client and describes every answer", async (t) => {
  const folder = await Deno.makeTempDir();
  const notes = await startNotes(folder, freePort());
  try {
    const tokens = [await signUp(notes, "a@example.com"), await signUp(notes, "b@example.com")];
    const client = createClient<routes>({
      baseUrl: notes.url,
      session: { getToken: () => tokens[0] },
    });

    await t.step("a session, a note, its pages and errors through the client", async () => {
      const key = crypto.randomUUID();
      const create = () =>
        unwrap(client.POST("/notes", {
          params: { header: { "Idempotency-Key": key } },
          body: { title: "Milk" },
        }));
      const note = await create();
      assertEquals((await create()).id, note.id, "the key makes it one note");
      const options = { params: { path: { noteId: note.id } } };
      assertEquals((await unwrap(client.GET("/notes/{noteId}", options))).title, "Milk");
      const list = await unwrap(client.GET("/notes", { params: { query: { limit: 1 } } }));
      assertEquals(list.notes.map(({ id }) => id), [note.id]);
      assertEquals(await unwrap(client.DELETE("/notes/{noteId}", options)), undefined);
      const { error, response } = await client.GET("/notes/{noteId}", options);
      assertEquals([response.status, error?.code], [404, "NOT_FOUND"]);
      const anonymous = createClient<routes>({ baseUrl: notes.url });
      assertEquals((await anonymous.GET("/notes")).error?.code, "UNAUTHORIZED");
    });

    const explain = createResponseCheck(document);
    const send = async ({ path, method, url, headers, body }: GeneratedRequest) => {
      const init = { method: method.toUpperCase(), headers, body, redirect: "manual" } as const;
      const response = await fetch(notes.url + url, init);
      const { status } = response;
      const received = { status, headers: response.headers, body: await response.text() };
      return { status, reason: explain(path, method, received) };
    };

    await t.step(`${REQUESTS} generated requests, seed ${testSeed}`, async () => {
      const noteIds: string[] = [];
      // generated requests delete them
      for (let left = REQUESTS / 30; left > 0; left--) {
        const body = { title: `Note ${left}`, labelId: "todo" };
        const params = { header: { "Idempotency-Key": crypto.randomUUID() } };
        noteIds.push((await unwrap(client.POST("/notes", { params, body }))).id);
      }
      const seen = new Set<string>();
      const requests = fc.sample(
        generateRequest(OPERATIONS, { tokens, noteIds, secrets: notes.secrets }),
        {
          numRuns: REQUESTS,
          seed: testSeed,
        },
      );
      for (const request of requests) {
        const { status, reason } = await send(request);
        assertEquals(reason, undefined, JSON.stringify(request));
        seen.add(`${request.method} ${request.path} ${status}`);
      }
      const successes = OPERATIONS.filter(({ method, path }) =>
        [200, 201, 202, 204].some((status) => seen.has(`${method} ${path} ${status}`))
      );
      assertEquals(successes.length, OPERATIONS.length, [...seen].sort().join("\n"));
      assert(seen.size > 2 * OPERATIONS.length, [...seen].sort().join("\n"));
    });

    await t.step(`${AUTH_REQUESTS} requests to the auth routes, seed ${testSeed}`, async () => {
      const answered = new Set<string>();
      // generated requests end sessions and delete users
      const ROUND = 150;
      for (let from = 0; from < AUTH_REQUESTS; from += ROUND) {
        const known = {
          tokens: [await signUp(notes, `user${from}@example.com`)],
          noteIds: [NO_NOTE],
          secrets: notes.secrets,
        };
        const requests = fc.sample(generateRequest(AUTH_OPERATIONS, known), {
          numRuns: ROUND,
          seed: testSeed + from,
        });
        for (const request of requests) {
          const { status, reason } = await send(request);
          assertEquals(reason, undefined, JSON.stringify(request));
          if (status < 400) answered.add(`${request.method} ${request.path}`);
        }
      }
      assert(answered.size >= 3, [...answered].join("\n"));
    });
  } finally {
    await notes.interrupt();
    await Deno.remove(folder, { recursive: true });
  }
});
