// Signs up and in to the accounts example with each generated client. Addresses are relative to --location.
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
  /** Returns the token of the account, which its owner has not confirmed. */
  signUp(account: Account & { name: string }): Promise<string | null>;
  /** Returns the code with which the sign-in is refused. */
  signIn(account: Account): Promise<string | undefined>;
  /** Returns the email of the signed-in user. */
  getMe(token: string): Promise<string>;
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
    signUp: async (body) => (await api.POST("/auth/sign-up/email", { body })).data!.token,
    signIn: async (body) => (await api.POST("/auth/sign-in/email", { body })).error!.code,
    getMe: async (token) => (await api.GET("/me", bearer(token))).data!.email,
  },
  "orval": {
    async signUp(account) {
      const { status, data } = await orval.signUpWithEmailAndPassword(account);
      assert(status === 200);
      return data.token;
    },
    async signIn(account) {
      const { status, data } = await orval.signInEmail(account);
      assert(status === 403);
      return data.code;
    },
    async getMe(token) {
      const { status, data } = await orval.getMe(bearer(token));
      assert(status === 200);
      return data.email;
    },
  },
  "hey-api": {
    signUp: async (body) => (await heyApi.signUpWithEmailAndPassword({ body })).data!.token,
    signIn: async (body) => (await heyApi.signInEmail({ body })).error!.code,
    getMe: async (auth) => (await heyApi.getMe({ auth })).data!.email,
  },
  "kubb": {
    signUp: async (account) => (await kubb.signUpWithEmailAndPassword(account)).token,
    // its client returns the body of any status as that of success
    async signIn(account) {
      const body: object = await kubb.signInEmail(account);
      return (body as kubb.AuthError).code;
    },
    getMe: async (token) => (await kubb.getMe(bearer(token))).email,
  },
  "swagger-typescript-api": {
    async signUp(account) {
      return (await swagger.auth.signUpWithEmailAndPassword(account)).data.token;
    },
    async signIn(account) {
      const refused = await swagger.auth.signInEmail(account).catch((error) => error);
      return refused.error.code;
    },
    getMe: async (token) => (await swagger.me.getMe(bearer(token))).data.email,
  },
};

for (const [tool, calls] of Object.entries(CLIENTS)) {
  const account = { email: `${tool}@example.com`, password: "correct horse battery" };
  assert.equal(await calls.signUp({ ...account, name: tool }), null, tool);
  assert.equal(await calls.signIn(account), "EMAIL_NOT_VERIFIED", tool);
  assert.equal(await calls.getMe(process.argv[2]!), "admin@example.com", tool);
  console.log(tool);
}
