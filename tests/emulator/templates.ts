/**
 * Each template of `trellis init`, with a REST API and then with an HTTP API: deployed as it is written, asked on each route,
 * planned again without changes, and destroyed.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { TEMPLATE_NAMES, type TemplateName } from "../../cli/init/project_choices.ts";
import { STATES } from "./project.ts";
import { checkPlanIsEmpty, deployFirst, type Suite, testOnEmulator, until } from "./suite.ts";

/** Answers of a deployed API. */
interface Api {
  /** Sends a request. Fails for another status than the expected one. Returns the body, which is JSON or empty. */
  ask(
    route: `${"GET" | "POST"} /${string}`,
    status: number,
    request?: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Answer>;
  /** Returns the links in the mails that were sent to an address, oldest first. */
  listLinks(to: string): Promise<URL[]>;
}
// deno-lint-ignore no-explicit-any
type Answer = any;

/** Setting of the stage that declares the role with which REST APIs write their logs. */
const ACCOUNT = "manage_api_gateway_account: true,";
const ADA = { name: "Ada", password: "correct-horse-battery" };

async function useNotes({ ask }: Api, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  await ask("POST /notes", 401, { body: { title: "Milk" } });
  await ask("POST /notes", 201, { headers, body: { title: "Milk" } });
  const { notes } = await ask("GET /notes", 200, { headers });
  assertEquals(notes.map(({ title }: { title: string }) => title), ["Milk"]);
}

/** Asks each route of a template. `label` differs in each call, because the database stays. */
const ROUTES: Readonly<Record<TemplateName, (api: Api, label: string) => Promise<void>>> = {
  async empty() {},
  async api({ ask }, title) {
    await ask("POST /notes", 201, { body: { title } });
    const { notes } = await ask("GET /notes", 200);
    assertEquals(notes[0].title, title);
  },
  async notes(api, label) {
    const body = { ...ADA, email: `${label}@example.com` };
    await api.ask("POST /auth/sign-up/email", 200, { body });
    const { token } = await api.ask("POST /auth/sign-in/email", 200, { body });
    await useNotes(api, token);
  },
  async accounts(api, label) {
    const body = { ...ADA, email: `${label}@example.com` };
    await api.ask("POST /auth/sign-up/email", 200, { body });
    await api.ask("POST /auth/sign-in/email", 403, { body });
    const [link] = await until(() => api.listLinks(body.email), (links) => links.length > 0);
    assertMatch(link.pathname, /\/auth\/verify-email$/);
    await api.ask(`GET /auth/verify-email?token=${link.searchParams.get("token")}`, 200);
    const { token } = await api.ask("POST /auth/sign-in/email", 200, { body });
    await useNotes(api, token);
  },
  async jobs({ ask }, item) {
    const request = { body: { item, quantity: 2 }, headers: { "idempotency-key": item } };
    const first = await ask("POST /orders", 201, request);
    assertEquals(await ask("POST /orders", 201, request), first);
    const list = async () => (await ask("GET /orders", 200)).orders;
    // the relay runs each minute
    const [order, ...others] = await until(list, ([{ shippedAt }]) => shippedAt !== null);
    assertEquals([order.item, typeof order.shippedAt], [item, "string"]);
    assert(others.every((other: { item: string }) => other.item !== item));
  },
};

for (const template of TEMPLATE_NAMES) {
  testOnEmulator(
    `the template ${template} deploys with a REST API and with an HTTP API`,
    async (suite) => {
      const { emulator, root, step, trellis, send } = suite;
      for (const type of ["rest", "http"] as const) {
        let api: Api;
        await step(`${type}: deploy`, async () => {
          const file = join(root, "trellis.config.ts");
          const config = await Deno.readTextFile(file);
          const typed = config.replace(/type: "\w+"/, `type: "${type}"`);
          // HTTP APIs write their logs without the account's role
          await Deno.writeTextFile(file, type === "http" ? typed.replaceAll(ACCOUNT, "") : typed);
          for (const what of ["permissions", "infra", "openapi"]) {
            const { code, text } = await trellis(`generate ${what}`);
            assertEquals(code, 0, text);
          }
          api = openApi(suite, await deployFirst(suite));
        });
        await step(`${type}: each route answers`, async () => {
          await api.ask("GET /health", 200);
          await ROUTES[template](api, `label-of-${type}`);
        });
        await step(`${type}: no request was denied`, async () => {
          assertEquals(await emulator.listDenied(), []);
        });
        await step(`${type}: a second plan is empty`, () => checkPlanIsEmpty(suite));
        await step(`${type}: destroy leaves nothing`, async () => {
          const { code, text } = await trellis("destroy --stage dev --confirm dev");
          assertEquals(code, 0, text);
          const Key = "app/dev.tfstate";
          const [state] = await send(["s3", "GetObject", { Bucket: STATES, Key }]);
          assertEquals(JSON.parse(state.text).resources, []);
        });
      }
    },
    {
      isLong: true,
      project: {
        template,
        async render(read) {
          const config = await read("trellis.config.ts");
          const settings = `infra: {
    api: { type: "rest" },
    region: "eu-central-1",
    state: { bucket: "${STATES}", region: "eu-central-1" },`;
          return {
            "trellis.config.ts": config.replace("infra: {", settings)
              .replace("dev: {},", `dev: { variables: { ${ACCOUNT} } },`)
              .replace("dev: { variables: { web", `dev: { variables: { ${ACCOUNT} web`),
          };
        },
      },
    },
  );
}

/** Opens the API of a stage. */
function openApi({ emulator }: Suite, url: string): Api {
  return {
    async ask(route, status, { body, headers } = {}): Promise<Answer> {
      const [method, path] = route.split(" ");
      const response = await emulator.request(`${url}${path}`, {
        method,
        headers: { ...headers, ...body !== undefined && { "content-type": "application/json" } },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const text = await response.text();
      assertEquals(response.status, status, `${route}: ${text}`);
      return text === "" ? undefined : JSON.parse(text);
    },
    async listLinks(to): Promise<URL[]> {
      const { messages } = await (await emulator.ask("/_ministack/ses/messages")).json();
      const sent = (Object.values(messages) as { readonly To?: readonly string[] }[][]).flat()
        .filter(({ To }) => To?.includes(to));
      return [...JSON.stringify(sent).matchAll(/https:[^"\\\s<]+/g)].map(([link]) => new URL(link));
    },
  };
}
