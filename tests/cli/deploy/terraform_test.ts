import { assertEquals, assertRejects } from "@std/assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openTerraform } from "../../../cli/deploy/terraform.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

/** What Terraform 1.11.4 prints with `-json` while the state is locked in Amazon S3. */
const LOCKED = JSON.stringify({
  type: "diagnostic",
  diagnostic: {
    severity: "error",
    summary: "Error acquiring the state lock",
    detail:
      `Error message: operation error S3: PutObject, RequestID: d3247d3e, HostID: kYDG, api error PreconditionFailed
Lock Info:
  ID:        27fdf584-3586-f76f-3095-76df3f00b6d9
  Path:      app-states/app/dev.tfstate
  Operation: OperationTypeApply
  Who:       root@vm
  Created:   2026-11-29 01:45:57.428116524 +0000 UTC
`,
  },
});

Deno.test("openTerraform() says what is missing: the generated folder, or the program", async () => {
  const stage = { name: "dev", backend: {}, variables: {} };
  await withTempFolder({ "infra/main.tf": "" }, async (root) => {
    const open = (folder: string, program?: string) =>
      openTerraform({ folder: join(root, folder), stage, program });
    for (const program of [undefined, "no-such-program"]) {
      const error = await assertRejects(() => open("other", program), ConfigurationError);
      assertEquals(
        error.message,
        `${join(root, "other")} does not exist: run trellis generate infra and commit the files`,
      );
    }
    await assertRejects(
      () => open("infra", "no-such-program"),
      ConfigurationError,
      "cannot be run",
    );
  });
});

for (const product of ["Terraform", "OpenTofu"]) {
  Deno.test(`plan() explains the lock of another ${product}, and removes it with --unlock`, async () => {
    const script = `#!/bin/sh
echo "$1 $4" >> calls
case $1 in
version) echo "${product} v1.11.4"; exit 0 ;;
force-unlock) touch unlocked; exit 0 ;;
esac
[ -e unlocked ] && exit 0
cat locked.json
exit 1
`;
    const files = { "terraform.sh": script, "locked.json": LOCKED, ".terraform/stages/keep": "" };
    await withTempFolder(files, async (folder) => {
      const program = join(folder, "terraform.sh");
      await Deno.chmod(program, 0o755);
      const stage = { name: "dev", backend: {}, variables: {} };
      const terraform = await openTerraform({ folder, stage, program });
      await assertRejects(
        () => terraform.plan(),
        ConfigurationError,
        `The state is locked by root@vm since 2026-11-29 01:45:57.428116524 +0000 UTC: another ${product} is running`,
      );
      await Deno.remove(join(folder, "calls"));
      const unlocking = await openTerraform({ folder, stage, program, isUnlocking: true });
      assertEquals((await unlocking.plan()).isEmpty, true);
      const calls = (await Deno.readTextFile(join(folder, "calls"))).split("\n");
      assertEquals(calls.map((call) => call.trim()), [
        "version",
        "plan -json",
        "force-unlock 27fdf584-3586-f76f-3095-76df3f00b6d9",
        "plan -json",
        "",
      ]);
    });
  });
}

const FAILED_APPLIES: readonly (readonly [what: string, apply: string, message: string])[] = [
  [
    "that something killed",
    "kill -9 $$",
    "apply was ended by SIGKILL. Its lock may be left on the state, and what it has created last is not in the state: run the " +
    "command again with --unlock",
  ],
  [
    "whose resources exist without being in the state",
    "echo 'Error: EntityAlreadyExists: Role with name notes-dev-A already exists'; exit 1",
    "AWS has resources that are not in the state: Terraform, if it is killed, does not record what it has created last. " +
    "Delete them in AWS, or take each over in FOLDER: TF_DATA_DIR=.terraform/stages/dev PROGRAM import " +
    "-var='environment=dev' <address> <id>",
  ],
];

for (const [what, apply, message] of FAILED_APPLIES) {
  Deno.test(`apply() says what to do about an apply ${what}`, async () => {
    const script = `#!/bin/sh\n[ "$1" = apply ] || exit 0\n${apply}\n`;
    await withTempFolder(
      { "terraform.sh": script, ".terraform/stages/keep": "" },
      async (folder) => {
        const program = join(folder, "terraform.sh");
        await Deno.chmod(program, 0o755);
        const stage = { name: "dev", backend: {}, variables: { environment: "dev" } };
        const terraform = await openTerraform({ folder, stage, program });
        await assertRejects(
          async () => await terraform.apply(await terraform.plan()),
          ConfigurationError,
          message.replace("FOLDER", folder).replace("PROGRAM", program),
        );
      },
    );
  });
}

Deno.test("stop() interrupts a plan, whose own errors say nothing", async () => {
  const halted = { severity: "error", summary: "execution halted" };
  const script = `#!/bin/sh
[ "$1" = version ] && echo "Terraform v1.11.4" && exit 0
trap 'cat halted.json; exit 1' INT
touch begun
while :; do sleep 0.05; done
`;
  const files = {
    "terraform.sh": script,
    "halted.json": JSON.stringify({ type: "diagnostic", diagnostic: halted }),
    ".terraform/stages/keep": "",
  };
  await withTempFolder(files, async (folder) => {
    const program = join(folder, "terraform.sh");
    await Deno.chmod(program, 0o755);
    const stage = { name: "dev", backend: {}, variables: {} };
    const terraform = await openTerraform({ folder, stage, program });
    const planned = assertRejects(() => terraform.plan(), Error);
    while (!existsSync(join(folder, "begun"))) await new Promise((done) => setTimeout(done, 20));
    await terraform.stop();
    assertEquals((await planned).message, "Terraform was interrupted");
  });
});
