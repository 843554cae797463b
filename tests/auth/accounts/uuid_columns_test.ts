import { assert, assertEquals, assertMatch } from "@std/assert";
import { magicLink } from "better-auth/plugins/magic-link";
import { eq, getTableName, inArray } from "drizzle-orm";
import { createAuth } from "../../../auth/accounts/instance.ts";
import { AUTH_SCHEMA_MAPPING, authVerification } from "../../../auth/tables/schema.ts";
import { acceptTextAsUuid, toUuid } from "../../../auth/accounts/uuid_columns.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";

Deno.test("toUuid() keeps a UUID and derives version 8 from any other text", () => {
  const id = crypto.randomUUID();
  assertEquals(toUuid(id), id);
  assertEquals(toUuid("abc"), toUuid("abc"));
  assert(toUuid("abc") !== toUuid("abd"));
  assertMatch(toUuid(""), /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

Deno.test("acceptTextAsUuid() stores and finds a row by an id that is not a UUID, and leaves the table unchanged", async () => {
  const { db, pglite } = await openAuthDatabase();
  try {
    const { verification } = acceptTextAsUuid(AUTH_SCHEMA_MAPPING) as {
      verification: typeof authVerification;
    };
    assertEquals(getTableName(verification), "verification");
    const row = { identifier: "a", value: "b", expiresAt: new Date() };
    await db.insert(verification).values({ id: "reserve-1", ...row });
    const found = await db.select().from(verification).where(eq(verification.id, "reserve-1"));
    assertEquals(found.map(({ id }) => id), [toUuid("reserve-1")]);
    const ids = ["x", found[0].id];
    assertEquals(
      (await db.select().from(verification).where(inArray(verification.id, ids))).length,
      1,
    );
    const refused = await db.select().from(authVerification).where(eq(authVerification.id, "x"))
      .then(() => "found", () => "refused");
    assertEquals(refused, "refused");
  } finally {
    await pglite.close();
  }
});

Deno.test("createAuth() lets the owner of an address sign in by magic link when it is registered but unverified", async () => {
  const { db, pglite } = await openAuthDatabase();
  try {
    let url = "";
    const auth = createAuth(db, {
      secret: SECRET,
      baseURL: "http://localhost:3000",
      plugins: [magicLink({ sendMagicLink: (link) => void (url = link.url) })],
    });
    const email = "ada@example.com";
    await auth.api.signUpEmail({ body: { name: "Ada", email, password: "correct horse battery" } });
    const started = await auth.handler(
      new Request("http://localhost:3000/api/auth/sign-in/magic-link", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ email }),
      }),
    );
    assertEquals(started.status, 200);
    // better-auth reserves the address under an id that is a hash
    const verified = await auth.handler(new Request(url));
    assertEquals(verified.status, 302);
    assertMatch(verified.headers.get("set-cookie") ?? "", /session_token=/);
    // the password of the person who registered first is gone
    assertEquals((await pglite.query("SELECT 1 FROM accounts")).rows.length, 0);
  } finally {
    await pglite.close();
  }
});
