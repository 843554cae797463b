// Signs up, signs in and writes a note of the notes example with each generated client. Addresses are relative to --location.
import assert from "node:assert/strict";
import { setConfig } from "@kubb/plugin-client/clients/fetch";
import createClient from "openapi-fetch";
import * as heyApi from "../openapi-ts/index.ts";
import { client } from "../openapi-ts/client.gen.ts";
import type { paths } from "../openapi-typescript/api.ts";
import * as kubb from "../kubb/index.ts";
import * as orval from "../orval/api.ts";
import { Api } from "../swagger-typescript-api/Api.ts";

/** The calls of a client. */
interface Calls {
  /** Returns the name of the account. */
  signUp(account: Account & { name: string }): Promise<string>;
  /** Returns the token of the session. */
  signIn(account: Account): Promise<string>;
  /** Returns the id of the note. */
  write(token: string, title: string): Promise<string>;
  /** Returns the title of the note. */
  read(token: string, noteId: string): Promise<string>;
  /** Returns the code of the refusal. */
  readUnknown(token: string, noteId: string): Promise<string>;
}

interface Account {
  email: string;
  password: string;
}

const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
const api = createClient<paths>();
const swagger = new Api({ baseUrl: "" });
client.setConfig({ baseUrl: location.origin });
// without it, the client of kubb sends JSON as text/plain
setConfig({ headers: { "Content-Type": "application/json" } });

const CLIENTS: Readonly<Record<string, Calls>> = {
  "openapi-typescript": {
    signUp: async (body) => (await api.POST("/auth/sign-up/email", { body })).data!.user.name,
    signIn: async (body) => (await api.POST("/auth/sign-in/email", { body })).data!.token,
    async write(token, title) {
      return (await api.POST("/notes", { body: { title }, ...bearer(token) })).data!.id;
    },
    async read(token, noteId) {
      const params = { path: { noteId } };
      return (await api.GET("/notes/{noteId}", { params, ...bearer(token) })).data!.title;
    },
    async readUnknown(token, noteId) {
      const params = { path: { noteId } };
      return (await api.GET("/notes/{noteId}", { params, ...bearer(token) })).error!.code;
    },
  },
  "orval": {
    async signUp(account) {
      const { status, data } = await orval.signUpWithEmailAndPassword(account);
      assert(status === 200);
      return data.user.name;
    },
    async signIn(account) {
      const { status, data } = await orval.signInEmail(account);
      assert(status === 200);
      return data.token;
    },
    async write(token, title) {
      const { status, data } = await orval.postNote({ title }, bearer(token));
      assert(status === 201);
      return data.id;
    },
    async read(token, noteId) {
      const { status, data } = await orval.getNote(noteId, bearer(token));
      assert(status === 200);
      return data.title;
    },
    async readUnknown(token, noteId) {
      const { status, data } = await orval.getNote(noteId, bearer(token));
      assert(status === 404);
      return data.code;
    },
  },
  "hey-api": {
    signUp: async (body) => (await heyApi.signUpWithEmailAndPassword({ body })).data!.user.name,
    signIn: async (body) => (await heyApi.signInEmail({ body })).data!.token,
    async write(auth, title) {
      return (await heyApi.postNote({ body: { title }, auth })).data!.id;
    },
    async read(auth, noteId) {
      return (await heyApi.getNote({ path: { noteId }, auth })).data!.title;
    },
    async readUnknown(auth, noteId) {
      return (await heyApi.getNote({ path: { noteId }, auth })).error!.code;
    },
  },
  "kubb": {
    signUp: async (account) => (await kubb.signUpWithEmailAndPassword(account)).user.name,
    signIn: async (account) => (await kubb.signInEmail(account)).token,
    write: async (token, title) => (await kubb.postNote({ title }, {}, bearer(token))).id,
    read: async (token, noteId) => (await kubb.getNote(noteId, bearer(token))).title,
    // its client returns the body of any status as that of success
    async readUnknown(token, noteId) {
      const body: object = await kubb.getNote(noteId, bearer(token));
      return (body as kubb.ApiError).code;
    },
  },
  "swagger-typescript-api": {
    async signUp(account) {
      return (await swagger.auth.signUpWithEmailAndPassword(account)).data.user.name;
    },
    signIn: async (account) => (await swagger.auth.signInEmail(account)).data.token,
    async write(token, title) {
      return (await swagger.notes.postNote({ title }, bearer(token))).data.id;
    },
    async read(token, noteId) {
      return (await swagger.notes.getNote(noteId, bearer(token))).data.title;
    },
    async readUnknown(token, noteId) {
      const refused = await swagger.notes.getNote(noteId, bearer(token)).catch((error) => error);
      return refused.error.code;
    },
  },
};

for (const [tool, calls] of Object.entries(CLIENTS)) {
  const account = { email: `${tool}@example.com`, password: "correct horse battery" };
  assert.equal(await calls.signUp({ ...account, name: tool }), tool);
  const token = await calls.signIn(account);
  const id = await calls.write(token, `written by ${tool}`);
  assert.equal(await calls.read(token, id), `written by ${tool}`, tool);
  assert.equal(await calls.readUnknown(token, crypto.randomUUID()), "NOT_FOUND", tool);
  console.log(tool);
}
