import { assertEquals } from "@std/assert";
import { drizzle } from "drizzle-orm/pglite";
import { createAuth, createAuthHandler } from "../../../auth/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../../testing/mod.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";

Deno.test("createAuthHandler() refuses more than 500 headers and 10,000 fields before it reads them", async () => {
  const restore = setLogOutput(() => {});
  const { pglite } = await openAuthDatabase();
  const { formData } = Request.prototype;
  const { append } = Headers.prototype;
  let [forms, headers] = [0, 0];
  Request.prototype.formData = function (this: Request): Promise<FormData> {
    forms++;
    return formData.call(this);
  };
  Headers.prototype.append = function (this: Headers, name: string, value: string): void {
    headers++;
    append.call(this, name, value);
  };
  try {
    const auth = createAuth(drizzle({ client: pglite }), {
      secret: SECRET,
      baseURL: "https://api.example.com",
      rateLimit: { enabled: false },
    });
    const handler = createAuthHandler(() => auth);
    const send = async (options: object, more: object = {}) => {
      const event = { ...createRestApiEvent({ method: "POST", ...options }), ...more };
      const path = "/api/auth/sign-in/email";
      [forms, headers] = [0, 0];
      const { statusCode, body } = await handler({ ...event, path }, createLambdaContext());
      return [statusCode, JSON.parse(body).message];
    };
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, ["v"]]));
    for (const multiValueHeaders of [many(501), { "x-a": Array(501).fill("v") }]) {
      const refused = [400, "The request has more than 500 headers"];
      assertEquals([await send({}, { multiValueHeaders }), headers], [refused, 0]);
    }
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const parts = { "Content-Type": "multipart/form-data; boundary=b" };
    const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n';
    const refused = [400, "The body has more than 10000 fields"];
    for (
      const [headers, body] of [
        [form, "a=1&".repeat(10_001)],
        [parts, `${part.repeat(10_001)}--b--\r\n`],
      ]
    ) {
      assertEquals([await send({ headers, body }), forms], [refused, 0]);
    }
    const [status, message] = await send({ headers: form, body: "a=1&".repeat(10_000) });
    assertEquals([status, message === refused[1], forms > 0], [400, false, true]);
  } finally {
    Request.prototype.formData = formData;
    Headers.prototype.append = append;
    restore();
    await pglite.close();
  }
});
