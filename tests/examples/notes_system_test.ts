import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { createHmac } from "node:crypto";
import { type NotesProcess, startNotes } from "../support/notes_process.ts";
import { freePort } from "../support/free_port.ts";

interface Answer {
  status: number;
  body: string;
  // deno-lint-ignore no-explicit-any
  json: any;
  headers: Headers;
}

interface Request {
  method?: string;
  path: string;
  token?: string;
  headers?: Record<string, string>;
  body?: BodyInit;
  json?: unknown;
}

const PASSWORD = "marker-password-4711";
const answers: string[] = [];

async function call(notes: NotesProcess, request: Request): Promise<Answer> {
  const headers = new Headers(request.headers);
  if (request.token !== undefined) headers.set("Authorization", `Bearer ${request.token}`);
  if (request.json !== undefined) headers.set("Content-Type", "application/json");
  const response = await fetch(`${notes.url}${request.path}`, {
    method: request.method ?? "GET",
    headers,
    body: request.json === undefined ? request.body : JSON.stringify(request.json),
  });
  const body = await response.text();
  answers.push(body);
  const isJson = response.headers.get("Content-Type")?.includes("json");
  return {
    status: response.status,
    body,
    json: isJson && body ? JSON.parse(body) : undefined,
    headers: response.headers,
  };
}

async function signUp(notes: NotesProcess, email: string): Promise<string> {
  const json = { name: "Test", email, password: PASSWORD };
  const { status, json: body } = await call(notes, {
    method: "POST",
    path: "/auth/sign-up/email",
    json,
  });
  assertEquals(status, 200);
  answers.pop(); // the one answer that hands out a token
  return body.token;
}

/** Waits for what the worker does after the response. */
async function waitFor<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const found = await read().catch(() => undefined);
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("It did not happen within 10 seconds");
}

function assertErrorBody({ json, headers }: Answer, code: string): void {
  assertEquals(json.code, code);
  const keys = Object.keys(json).filter((key) => key !== "errors");
  assertEquals(keys, ["message", "code", "requestId", "correlationId"]);
  assertEquals(headers.get("X-Correlation-Id"), json.correlationId);
}

function sign(secret: string, text: string | Uint8Array): string {
  return createHmac("sha256", secret).update(text).digest("hex");
}

Deno.test("the notes example", async (t) => {
  const folder = await Deno.makeTempDir();
  const port = freePort();
  let notes = await startNotes(folder, port);
  let running = true;
  try {
    const ada = await signUp(notes, "first@example.com");
    const bob = await signUp(notes, "second@example.com");

    await t.step("answers the document", async () => {
      const { json } = await call(notes, { path: "/openapi.json" });
      assertEquals(Object.keys(json.paths["/notes/{noteId}"]).sort(), ["delete", "get", "patch"]);
    });

    await t.step("keeps, lists, changes and deletes a user's notes", async () => {
      const json = { title: "Milk", body: "two litres", labelId: "todo" };
      const created = await call(notes, { method: "POST", path: "/notes", token: ada, json });
      assertEquals(created.status, 201);
      const path = created.headers.get("Location")!;
      assertEquals((await call(notes, { path, token: ada })).json, created.json);
      const changed = await call(notes, {
        method: "PATCH",
        path,
        token: ada,
        json: { labelId: "done" },
      });
      assertEquals([changed.status, changed.json.labelId, changed.json.title], [
        200,
        "done",
        "Milk",
      ]);
      await call(notes, { method: "POST", path: "/notes", token: ada, json: { title: "Bread" } });
      const titles = async (query: string): Promise<string[]> =>
        // deno-lint-ignore no-explicit-any
        (await call(notes, { path: `/notes${query}`, token: ada })).json.notes.map((note: any) =>
          note.title
        );
      assertEquals(await titles(""), ["Bread", "Milk"]);
      assertEquals(await titles("?limit=1"), ["Bread"]);
      assertEquals(await titles("?label=done&label=idea"), ["Milk"]);
      assertEquals(await titles("?search=LITRES"), ["Milk"]);
      const deleted = await call(notes, { method: "DELETE", path, token: ada });
      assertEquals([deleted.status, deleted.body], [204, ""]);
      assertEquals((await call(notes, { path, token: ada })).status, 404);
    });

    await t.step("writes a note once for each idempotency key", async () => {
      const request = {
        method: "POST",
        path: "/notes",
        token: ada,
        headers: { "Idempotency-Key": crypto.randomUUID() },
        json: { title: "Once" },
      };
      const first = await call(notes, request);
      const second = await call(notes, request);
      assertEquals([first.status, second.status, second.body], [201, 201, first.body]);
      assertEquals(second.headers.get("Idempotency-Replayed"), "true");
      const other = await call(notes, { ...request, json: { title: "Other" } });
      assertEquals(other.status, 422);
      assertEquals(
        (await call(notes, { path: "/notes?search=once", token: ada })).json.notes.length,
        1,
      );
      await call(notes, {
        method: "DELETE",
        path: first.headers.get("Location")!,
        token: ada,
      });
    });

    await t.step("sends a mail to each new user", async () => {
      const mails = await waitFor(async () => {
        const found: Record<string, string[]>[] = [];
        for await (const { name } of Deno.readDir(`${folder}/mail`)) {
          if (name.endsWith(".json")) {
            found.push(JSON.parse(await Deno.readTextFile(`${folder}/mail/${name}`)));
          }
        }
        return found.length === 2 ? found : undefined;
      });
      assertEquals(mails.map(({ to }) => to[0]).sort(), [
        "first@example.com",
        "second@example.com",
      ]);
    });

    await t.step("greets with and without a session", async () => {
      assertMatch((await call(notes, { path: "/welcome" })).json.message, /^Welcome\. /);
      assertMatch(
        (await call(notes, { path: "/welcome", token: ada })).json.message,
        /^Welcome back, /,
      );
      assertEquals((await call(notes, { path: "/welcome", token: "no-such-token" })).status, 401);
    });

    await t.step("takes signed webhooks, each delivery once", async () => {
      const push = '{"ref":"refs/heads/main"}';
      const signed = {
        method: "POST",
        path: "/hooks/code-host",
        headers: {
          "X-GitHub-Delivery": "d1",
          "X-Hub-Signature-256": `sha256=${sign(notes.secrets.CODE_HOST_WEBHOOK_SECRET, push)}`,
        },
        body: push,
      };
      assertEquals((await call(notes, signed)).json, { accepted: true, repeated: false });
      assertEquals((await call(notes, signed)).json, { accepted: true, repeated: true });
      await waitFor(() =>
        Promise.resolve(notes.log().includes('"remove-old-deliveries"') || undefined)
      );
      const payment = '{"id":"evt_1","type":"paid"}';
      const at = Math.floor(Date.now() / 1000);
      const v1 = sign(notes.secrets.PAYMENTS_WEBHOOK_SECRET, `${at}.${payment}`);
      const paid = await call(notes, {
        method: "POST",
        path: "/hooks/payments",
        headers: { "Stripe-Signature": `t=${at},v1=${v1}` },
        body: payment,
      });
      assertEquals([paid.status, paid.json], [202, { accepted: true, repeated: false }]);
    });

    await t.step("lets the admin token in, and nothing else", async () => {
      const path = "/admin/reindex";
      const token = notes.secrets.API_BEARER_TOKEN;
      assertEquals((await call(notes, { method: "POST", path, token })).status, 200);
      for (const bad of [undefined, "", token.slice(1), `${token}x`, token.toUpperCase(), ada]) {
        assertErrorBody(await call(notes, { method: "POST", path, token: bad }), "UNAUTHORIZED");
      }
    });

    await t.step(
      "answers every bad request with the right status and the documented body",
      async () => {
        const own = (await call(notes, {
          method: "POST",
          path: "/notes",
          token: ada,
          json: { title: "Own" },
        })).json.id;
        const post = { method: "POST", path: "/notes", token: ada };
        const patch = { method: "PATCH", path: `/notes/${own}`, token: ada };
        const type = (value: string) => ({ "Content-Type": value });
        const bytes = (...values: number[]) => new Uint8Array(values);
        const hook = { method: "POST", path: "/hooks/code-host", body: "{}" };
        const payment = { method: "POST", path: "/hooks/payments", body: "{}" };
        const signature = (secret: string, body: string) => ({
          "X-Hub-Signature-256": `sha256=${sign(secret, body)}`,
        });
        const hookSecret = notes.secrets.CODE_HOST_WEBHOOK_SECRET;
        const notJson = "{}}";
        const at = Math.floor(Date.now() / 1000);
        const v1 = sign(notes.secrets.PAYMENTS_WEBHOOK_SECRET, `${at}.${notJson}`);
        const cases: [name: string, request: Request, status: number, code: string][] = [
          ["no session", { path: "/notes" }, 401, "UNAUTHORIZED"],
          [
            "a malformed header",
            { path: "/notes", headers: { Authorization: ada } },
            401,
            "UNAUTHORIZED",
          ],
          ["an unknown token", { path: "/notes", token: "x".repeat(32) }, 401, "UNAUTHORIZED"],
          ["a changed token", { path: "/notes", token: ada.slice(0, -1) }, 401, "UNAUTHORIZED"],
          [
            "a forged signature",
            { path: "/notes", token: `${ada}.${"A".repeat(43)}=` },
            401,
            "UNAUTHORIZED",
          ],
          [
            "the admin token",
            { path: "/notes", token: notes.secrets.API_BEARER_TOKEN },
            401,
            "UNAUTHORIZED",
          ],
          ["someone else's note", { path: `/notes/${own}`, token: bob }, 404, "NOT_FOUND"],
          [
            "changing someone else's note",
            { ...patch, token: bob, json: { title: "x" } },
            404,
            "NOT_FOUND",
          ],
          [
            "deleting someone else's note",
            { method: "DELETE", path: `/notes/${own}`, token: bob },
            404,
            "NOT_FOUND",
          ],
          ["an id that is none", { path: "/notes/1", token: ada }, 400, "VALIDATION_FAILED"],
          [
            "an id with a quote",
            { path: "/notes/'%20or%20true--", token: ada },
            400,
            "VALIDATION_FAILED",
          ],
          ["no body", post, 400, "VALIDATION_FAILED"],
          [
            "broken JSON",
            { ...post, headers: type("application/json"), body: '{"title":' },
            400,
            "VALIDATION_FAILED",
          ],
          ["wrong types", { ...post, json: { title: 7 } }, 400, "VALIDATION_FAILED"],
          ["an array", { ...post, json: [] }, 400, "VALIDATION_FAILED"],
          [
            "an unknown key",
            { ...post, json: { title: "x", userId: "y" } },
            400,
            "VALIDATION_FAILED",
          ],
          [
            "__proto__",
            { ...post, body: '{"title":"x","__proto__":{"admin":true}}' },
            415,
            "UNSUPPORTED_MEDIA_TYPE",
          ],
          [
            "__proto__ in JSON",
            {
              ...post,
              headers: type("application/json"),
              body: '{"title":"x","__proto__":{"admin":true}}',
            },
            400,
            "VALIDATION_FAILED",
          ],
          [
            "an unknown media type",
            { ...post, headers: type("text/csv"), body: "a,b" },
            415,
            "UNSUPPORTED_MEDIA_TYPE",
          ],
          [
            "bad UTF-8",
            { ...post, headers: type("application/json"), body: bytes(0x22, 0xff, 0x22) },
            400,
            "VALIDATION_FAILED",
          ],
          [
            "a body over the handler's limit",
            { ...post, json: { title: "x", body: "y".repeat(300_000) } },
            413,
            "PAYLOAD_TOO_LARGE",
          ],
          ["10 MB", { ...post, json: { title: "x".repeat(10_000_000) } }, 413, "PAYLOAD_TOO_LARGE"],
          [
            "over 10 MB",
            { ...post, body: "x".repeat(10 * 1024 * 1024 + 1) },
            413,
            "PAYLOAD_TOO_LARGE",
          ],
          [
            "a label that does not exist",
            { ...post, json: { title: "x", labelId: "none" } },
            409,
            "FOREIGN_KEY_VIOLATION",
          ],
          ["nothing to change", { ...patch, json: {} }, 400, "VALIDATION_FAILED"],
          [
            "a limit that is none",
            { path: "/notes?limit=many", token: ada },
            400,
            "VALIDATION_FAILED",
          ],
          [
            "a limit out of range",
            { path: "/notes?limit=5&limit=500", token: ada },
            400,
            "VALIDATION_FAILED",
          ],
          ["a hook without a signature", hook, 401, "UNAUTHORIZED"],
          [
            "a hook with another body",
            { ...hook, headers: signature(hookSecret, "[]") },
            401,
            "UNAUTHORIZED",
          ],
          [
            "a hook with another secret",
            { ...hook, headers: signature("other", "{}") },
            401,
            "UNAUTHORIZED",
          ],
          [
            "a hook without an id",
            { ...hook, headers: signature(hookSecret, "{}") },
            400,
            "VALIDATION_FAILED",
          ],
          ["a payment without a signature", payment, 401, "UNAUTHORIZED"],
          [
            "a payment from long ago",
            {
              ...payment,
              headers: {
                "Stripe-Signature": `t=1,v1=${sign(notes.secrets.PAYMENTS_WEBHOOK_SECRET, "1.{}")}`,
              },
            },
            401,
            "UNAUTHORIZED",
          ],
          [
            "a signed payment that is not JSON",
            {
              ...payment,
              headers: { "Stripe-Signature": `t=${at},v1=${v1}` },
              body: notJson,
            },
            400,
            "VALIDATION_FAILED",
          ],
          ["a path that does not exist", { path: "/nothing" }, 404, "NOT_FOUND"],
          [
            "a method that does not exist",
            { method: "DELETE", path: "/health" },
            405,
            "METHOD_NOT_ALLOWED",
          ],
        ];
        for (const [name, request, status, code] of cases) {
          const answer = await call(notes, request);
          assertEquals([name, answer.status], [name, status]);
          assertErrorBody(answer, code);
        }
        assertEquals((await call(notes, { path: "/health" })).json, { status: "ok" });
      },
    );

    await t.step(
      "refuses a wrong password, a taken address and a session that was signed out",
      async () => {
        const signIn = (password: string): Promise<Answer> =>
          call(notes, {
            method: "POST",
            path: "/auth/sign-in/email",
            json: { email: "second@example.com", password },
          });
        assertEquals((await signIn("wrong-password")).status, 401);
        const json = { name: "Again", email: "second@example.com", password: PASSWORD };
        assertEquals(
          (await call(notes, { method: "POST", path: "/auth/sign-up/email", json })).status,
          422,
        );
        const token = (await signIn(PASSWORD)).json.token;
        answers.pop();
        assertEquals((await call(notes, { path: "/notes", token })).status, 200);
        assertEquals(
          (await call(notes, { method: "POST", path: "/auth/sign-out", token, json: {} })).status,
          200,
        );
        assertEquals((await call(notes, { path: "/notes", token })).status, 401);
      },
    );

    await t.step("prints curl lines that work when pasted", async () => {
      assert(notes.curlLines.length >= 8);
      const script = notes.curlLines.map((line) =>
        line.replaceAll("curl ", "curl -sS --fail-with-body ")
      ).join(
        " &&\n",
      );
      const { code, stdout, stderr } = await new Deno.Command("bash", {
        args: ["-c", script],
        stdin: "null",
      }).output();
      const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assertEquals(code, 0, printed);
      assertStringIncludes(printed, '"title":"Milk"');
      assertStringIncludes(printed, "Welcome back");
      assertStringIncludes(printed, '"repeated":true');
    });

    await t.step("says so when its port is in use", async () => {
      const other = await Deno.makeTempDir();
      const error = await assertRejects(() => startNotes(other, port), Error);
      assertMatch(error.message, new RegExp(`exit code 1: [^]*Port ${port} is in use`));
      await Deno.remove(other, { recursive: true });
    });

    await t.step("stops on Ctrl-C and finds its data again", async () => {
      running = false;
      assertEquals(await notes.interrupt(), 0);
      const log = notes.log();
      notes = await startNotes(folder, port);
      running = true;
      assertEquals((await call(notes, { path: "/notes", token: ada })).json.notes.length, 2);
      running = false;
      assertEquals(await notes.interrupt(), 0);

      const everything = [log, notes.log(), ...answers].join("\n");
      const lines = log.trim().split("\n").map((line) => JSON.parse(line));
      assert(lines.filter((line) => line.correlation_id).length > 50);
      for (
        const secret of [
          ...Object.values(notes.secrets),
          ada,
          bob,
          PASSWORD,
          "insert into",
          'select "',
          "$1",
        ]
      ) {
        assertFalse(everything.includes(secret), `${secret} was shown`);
      }
    });
  } finally {
    if (running) await notes.interrupt();
    await Deno.remove(folder, { recursive: true });
  }
});
