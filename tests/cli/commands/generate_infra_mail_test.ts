import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { withProject } from "../fixtures/analyse.ts";
import { infra, readInfra } from "../fixtures/infra_project.ts";

const PROJECT = {
  "deno.json": `{ "name": "@acme/app" }`,
  "src/mails.ts": `import { configureMail, createSesTransport, defineMail } from "@trellis/fn/mail";
import { getDrizzleClient } from "@trellis/fn/database";
import * as z from "zod";
configureMail({ transport: createSesTransport(), from: "notes@example.com" });
export const getDb = () => getDrizzleClient({ provider: "embedded-pg" });
export const welcome = defineMail({ name: "welcome", schema: z.null(), render: () => ({ subject: "a", text: "b" }) });`,
  "src/functions/api/users.post.ts": `import { defineApiHandler } from "@trellis/fn/validation";
import { getDb, welcome } from "../../mails.ts";
export const handler = defineApiHandler()(async () => { await welcome.send(await getDb(), { to: "a@example.com", data: null }); });`,
  "src/functions/schedule/jobs-relay.ts": `import { defineJobRelayHandler } from "@trellis/fn/jobs";
import { getDb, welcome } from "../../mails.ts";
export const handler = defineJobRelayHandler({ getDb, jobs: [welcome.job] });`,
  "src/functions/topic/mail-events.ts": `import { defineMailEventHandler } from "@trellis/fn/mail";
export const handler = defineMailEventHandler()(() => {});`,
};
const CONFIG = `export default { infra: { database: "none", mail: { identity: "example.com" } } };`;

const run = (root: string) => infra(root, "--modules-path", join(Deno.cwd(), "modules"));

Deno.test("generate infra lets only the function that sends mails use the identity", async () => {
  await withProject({ ...PROJECT, "trellis.config.ts": CONFIG }, async (root) => {
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals([exitCode, stderr], [0, ""], stdout);
    const mail = await readInfra(root, "mail.tf");
    assertMatch(mail, /Action += "ses:SendEmail"/);
    assertMatch(mail, /identity\/example\.com"/);
    assertMatch(mail, /sns_destination \{\s+topic_arn = module\.topic_mail_events\.topic_arn/);
    assertMatch(await readInfra(root, "topics.tf"), /service += "ses\.amazonaws\.com"/);

    const worker = await readInfra(root, "fn_jobs_relay.tf");
    assertMatch(worker, /"send-mail" = local\.mail_policy_json/);
    assertMatch(worker, /MAIL_CONFIGURATION_SET = aws_sesv2_configuration_set\.mail/);
    for (const name of ["fn_users.tf", "fn_mail_events.tf"]) {
      assertEquals(/mail_policy|CONFIGURATION_SET/.test(await readInfra(root, name)), false, name);
    }
  });
});

Deno.test("generate infra asks for the identity that mails are sent from", async () => {
  const config = `export default { infra: { database: "none" } };`;
  await withProject({ ...PROJECT, "trellis.config.ts": config }, async (root) => {
    const { exitCode, stdout, stderr } = await run(root);
    assertEquals(exitCode, 1);
    assertMatch(stdout + stderr, /JobsRelay sends mails through Amazon SES: add infra\.mail/);
  });
});

Deno.test("generate infra refuses an identity that is neither a domain nor an address", async () => {
  for (const identity of ["example", "a b@example.com", 'x.com" }', "${path.root}.com"]) {
    const config = `export default { infra: { database: "none", mail: { identity: ${
      JSON.stringify(identity)
    } } } };`;
    await withProject({ ...PROJECT, "trellis.config.ts": config }, async (root) => {
      const { exitCode, stdout, stderr } = await run(root);
      assertEquals(exitCode, 1);
      assertMatch(stdout + stderr, /infra\.mail\.identity must be a domain or an address/);
    });
  }
});
