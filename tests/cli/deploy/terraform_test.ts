import { assertEquals, assertRejects } from "@std/assert";
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

Deno.test("plan() explains the lock of another Terraform, and removes it with --unlock", async () => {
  const script = `#!/bin/sh
echo "$1 $4" >> calls
case $1 in
version) exit 0 ;;
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
      "The state is locked by root@vm since 2026-11-29 01:45:57.428116524 +0000 UTC: another",
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
