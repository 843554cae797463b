import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The stand-in providers, which know the schemas of the real ones. */
export const OFFLINE: string = fileURLToPath(
  new URL("../../../shared/terraform-offline/bin/tf-offline", import.meta.url),
);

/** True if Terraform and its stand-in providers are there. */
export const hasOffline: boolean = await hasTerraform() &&
  await Deno.stat(OFFLINE).then(() => true, () => false);

async function hasTerraform(): Promise<boolean> {
  const command = new Deno.Command("terraform", {
    args: ["version"],
    stdout: "null",
    stderr: "null",
  });
  return await command.output().then(({ success }) => success, () => false);
}

/** The providers of all Terraform commands of a test. */
export interface TerraformProviders {
  /** The variables with which Terraform finds them. */
  readonly env: Readonly<Record<string, string>>;
  /** Serves the providers to Terraform in a folder. */
  serve(folder: string): Promise<void>;
}

/**
 * Serves all providers from one process: a process for each plan would take most of the time.
 *
 * @param work An existing folder for their files.
 * @param use Runs Terraform.
 */
export async function withProviders(
  work: string,
  use: (providers: TerraformProviders) => Promise<void>,
): Promise<void> {
  const home = join(work, "terraform");
  const setup = await new Deno.Command(OFFLINE, {
    args: ["setup"],
    env: { TF_OFFLINE_HOME: home },
  }).output();
  const daemon = new Deno.Command("node", {
    args: [join(OFFLINE, "../../src/daemon.mjs"), join(work, "providers")],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const input = daemon.stdin.getWriter();
  const lines = daemon.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    await use({
      env: {
        TF_OFFLINE_HOME: home,
        TF_CLI_CONFIG_FILE: new TextDecoder().decode(setup.stdout).trim(),
        TF_REATTACH_PROVIDERS: (await lines.read()).value!.trim(),
      },
      async serve(folder) {
        await input.write(new TextEncoder().encode(`${folder}\n`));
        await lines.read();
      },
    });
  } finally {
    await input.close();
    await lines.cancel();
    await daemon.status;
  }
}
