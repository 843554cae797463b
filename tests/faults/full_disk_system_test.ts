// deno-lint-ignore-file no-console -- the figures are part of the result
import { assertEquals, assertGreater, assertStringIncludes } from "@std/assert";

const PROCESS = new URL("./full_disk_process.ts", import.meta.url).pathname;

function run(command: string, ...args: string[]): boolean {
  try {
    return new Deno.Command(command, { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

async function write(folder: string, rows: number): Promise<Record<string, unknown>[]> {
  const args = ["run", "-A", "--no-check", PROCESS, folder, String(rows)];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  const lines = new TextDecoder().decode(stdout).trim().split("\n").filter((line) => line !== "");
  if (lines.length === 0) throw new Error(new TextDecoder().decode(stderr));
  return lines.map((line) => JSON.parse(line));
}

/** A disk of 60 MB in memory; it takes root, and a container that allows it. */
const disk = Deno.makeTempDirSync({ prefix: "trellis-disk-" });
const isMounted = Deno.uid() === 0 && run("mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", disk);
if (!isMounted) {
  Deno.removeSync(disk);
  console.warn("skipped: a full disk needs mount(8) as root");
}

Deno.test({
  name:
    "a full disk fails the statement of an embedded database with 53100, and nothing acknowledged is lost",
  ignore: !isMounted,
  async fn() {
    try {
      const lines = await write(`${disk}/db`, 5000);
      const failed = lines.find((line) => "failed" in line);
      const acknowledged = lines.filter((line) => "acknowledged" in line).length;
      assertGreater(acknowledged, 0);
      assertEquals(failed?.code, "53100");
      assertStringIncludes(String(failed?.message), "No space left on device");
      // room is made: the folder recovers with all that was acknowledged, and takes more
      run("mount", "-o", "remount,size=150m", disk);
      const after = await write(`${disk}/db`, 2);
      const counted = Number(after.at(-1)?.counted);
      const [{ acknowledged: first }] = after as { acknowledged: number }[];
      // a row whose statement failed may not be there
      assertEquals([first, counted], [acknowledged + 1, acknowledged + 2]);
      console.log(
        `full disk: ${acknowledged} acknowledged, 0 lost, then 53100; after room was made 2 more`,
      );
    } finally {
      run("umount", disk);
      await Deno.remove(disk);
    }
  },
});
