// Uploads a file and sends values of all kinds with each generated client. Addresses are relative to --location.
import assert from "node:assert/strict";
import { setConfig } from "@kubb/plugin-client/clients/fetch";
import createClient from "openapi-fetch";
import * as heyApi from "../openapi-ts/index.ts";
import { client } from "../openapi-ts/client.gen.ts";
import type { components, paths } from "../openapi-typescript/api.ts";
import * as kubb from "../kubb/index.ts";
import * as orval from "../orval/api.ts";
import { Api } from "../swagger-typescript-api/Api.ts";

type Schemas = components["schemas"];
type Query = NonNullable<paths["/search"]["get"]["parameters"]["query"]>;

/** The calls of a client. */
interface Calls {
  upload(file: File, note: string, tags: string[]): Promise<Schemas["Uploaded"]>;
  search(tenant: string, query: Query): Promise<Schemas["Found"]>;
  /** Returns the refusal. */
  searchTooMany(tenant: string, query: Query): Promise<Schemas["Problem"]>;
  putValues(valueId: number, values: Schemas["Values"]): Promise<Schemas["Values"]>;
  /** How the generator sends the list `["a", "b"]` in a query, if not as two values. */
  readonly listInQuery?: string;
  /** The same in a form. */
  readonly listInForm?: string;
}

const toHeaders = (tenant: string) => ({ "x-tenant": tenant, "x-rank": "high" as const });
const api = createClient<paths>();
const swagger = new Api({ baseUrl: "" });
client.setConfig({ baseUrl: location.origin });
const json = { headers: { "Content-Type": "application/json" } };

function toForm(body: Record<string, unknown>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    for (const each of [value].flat()) form.append(name, each as File);
  }
  return form;
}

const CLIENTS: Readonly<Record<string, Calls>> = {
  "openapi-typescript": {
    async upload(file, note, tags) {
      // its type of a file is a text
      const body = { file: file as unknown as string, note, tags };
      return (await api.POST("/files", { body, bodySerializer: toForm })).data!;
    },
    async search(tenant, query) {
      const params = { query, header: toHeaders(tenant) };
      return (await api.GET("/search", { params })).data!;
    },
    async searchTooMany(tenant, query) {
      const params = { query, header: toHeaders(tenant) };
      return (await api.GET("/search", { params })).error as Schemas["Problem"];
    },
    async putValues(valueId, body) {
      const params = { path: { valueId } };
      return (await api.PUT("/values/{valueId}", { params, body })).data!;
    },
  },
  "orval": {
    async upload(file, note, tags) {
      const { status, data } = await orval.uploadFile({ file, note, tags });
      assert(status === 201);
      return data;
    },
    async search(tenant, query) {
      const { status, data } = await orval.search(query, { headers: toHeaders(tenant) });
      assert(status === 200);
      return data;
    },
    async searchTooMany(tenant, query) {
      const { status, data } = await orval.search(query, { headers: toHeaders(tenant) });
      assert(status === 409);
      return data;
    },
    async putValues(valueId, values) {
      const { status, data } = await orval.putValues(valueId, values);
      assert(status === 200);
      return data;
    },
  },
  "hey-api": {
    upload: async (file, note, tags) =>
      (await heyApi.uploadFile({ body: { file, note, tags } })).data!,
    search: async (tenant, query) =>
      (await heyApi.search({ query, headers: toHeaders(tenant) })).data!,
    searchTooMany: async (tenant, query) =>
      (await heyApi.search({ query, headers: toHeaders(tenant) })).error as heyApi.Problem,
    putValues: async (valueId, body) => (await heyApi.putValues({ path: { valueId }, body })).data!,
  },
  "kubb": {
    listInQuery: "a,b",
    upload: (file, note, tags) => kubb.uploadFile({ file, note, tags }),
    search: (tenant, query) => kubb.search(toHeaders(tenant), query),
    // its client returns the body of any status as that of success
    async searchTooMany(tenant, query) {
      const body: object = await kubb.search(toHeaders(tenant), query);
      return body as kubb.Problem;
    },
    async putValues(valueId, values) {
      setConfig(json);
      const answer = await kubb.putValues(valueId, values);
      setConfig({});
      return answer;
    },
  },
  "swagger-typescript-api": {
    listInForm: `["a","b"]`,
    upload: async (file, note, tags) => (await swagger.files.uploadFile({ file, note, tags })).data,
    search: async (tenant, query) => (await swagger.search.search(query, { headers: toHeaders(tenant) })).data,
    async searchTooMany(tenant, query) {
      const refused = await swagger.search.search(query, { headers: toHeaders(tenant) }).catch((error) => error);
      return refused.error;
    },
    putValues: async (valueId, values) => (await swagger.values.putValues(valueId, values)).data as Schemas["Values"],
  },
};

const BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);
const TENANT = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
const VALUES: Schemas["Values"] = {
  ...{ text: "ä", day: "2026-02-03", at: "2026-02-03T04:05:06+02:00" },
  ...{ count: Number.MAX_SAFE_INTEGER, ratio: 0.1, isOpen: false, color: "dark-blue", note: null },
  ...{ labels: { a: 1 }, matrix: [[1], []], shape: { kind: "circle", radius: 1.5 } },
  shapes: [{ kind: "ball", radius: 2 }, { kind: "square", side: 3 }],
  thread: { text: "a", answers: [{ text: "b", answers: [] }] },
};

const TAGS = ["a", "b"];

for (const [tool, calls] of Object.entries(CLIENTS)) {
  const { listInForm, listInQuery } = calls;
  const uploaded = { name: "ä b.bin", bytes: 256, sum: 32640, note: "größe" };
  const sent = await calls.upload(new File([BYTES], "ä b.bin"), "größe", TAGS);
  assert.deepEqual(sent, { ...uploaded, tags: listInForm ? [listInForm] : TAGS }, tool);
  const query: Query = { color: "1st", limit: 5, from: "2026-02-03", exact: "yes" };
  const found = { ...query, exact: true, tenant: TENANT, rank: "high" };
  const tag = listInQuery ? [listInQuery] : TAGS;
  assert.deepEqual(await calls.search(TENANT, { ...query, tag: TAGS }), { ...found, tag }, tool);
  const problem = { code: "TOO_MANY", limit: 99 };
  assert.deepEqual(await calls.searchTooMany(TENANT, { limit: 100 }), problem, tool);
  assert.deepEqual(await calls.putValues(12, VALUES), VALUES, tool);
  console.log(tool);
}
