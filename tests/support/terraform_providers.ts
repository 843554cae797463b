import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The stand-in providers, which know the schemas of the real ones. */
export const OFFLINE: string = fileURLToPath(
  new URL("../../../shared/terraform-offline/bin/tf-offline", import.meta.url),
);

/** The program of the tests. With `TRELLIS_TERRAFORM=tofu`, or a path, they run with OpenTofu. */
export const TERRAFORM: string = Deno.env.get("TRELLIS_TERRAFORM") ?? "terraform";

/** True if Terraform and its stand-in providers are there. */
export const hasOffline: boolean = await hasProgram(TERRAFORM) &&
  await Deno.stat(OFFLINE).then(() => true, () => false);

/** Returns true if Terraform or OpenTofu can be run. */
export async function hasProgram(name: string): Promise<boolean> {
  const command = new Deno.Command(name, { args: ["version"], stdout: "null", stderr: "null" });
  return await command.output().then(({ success }) => success, () => false);
}

/** The providers of all Terraform commands of a test. */
export interface TerraformProviders {
  /** The variables with which Terraform finds them. */
  readonly env: Readonly<Record<string, string>>;
  /** Serves the providers to Terraform in a folder. */
  serve(folder: string): Promise<void>;
}

/** Returns the name that a provider of Terraform's registry, or the registry, has for OpenTofu. */
const toOpenTofu = (name: string): string => name.replace("terraform.io", "opentofu.org");

/**
 * Puts the providers into a folder, under the names of Terraform's registry and of OpenTofu's.
 *
 * @param home The folder.
 * @param offline The program that puts them.
 * @returns The variables with which Terraform and OpenTofu find them.
 */
export async function installProviders(
  home: string,
  offline = OFFLINE,
): Promise<Record<"TF_CLI_CONFIG_FILE" | "TF_OFFLINE_HOME", string>> {
  const env = { TF_OFFLINE_HOME: home };
  const { stdout } = await new Deno.Command(offline, { args: ["setup"], env }).output();
  const mirror = join(home, "mirror");
  const registries = [...Deno.readDirSync(mirror)].map(({ name }) => name);
  for (const name of registries.filter((each) => each !== toOpenTofu(each))) {
    // OpenTofu does not follow a link
    const args = ["-R", join(mirror, name), join(mirror, toOpenTofu(name))];
    await new Deno.Command("cp", { args }).output();
  }
  return { ...env, TF_CLI_CONFIG_FILE: new TextDecoder().decode(stdout).trim() };
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
  const env = await installProviders(join(work, "terraform"));
  const daemon = new Deno.Command("node", {
    args: [join(OFFLINE, "../../src/daemon.mjs"), join(work, "providers")],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const input = daemon.stdin.getWriter();
  const lines = daemon.stdout.pipeThrough(new TextDecoderStream()).getReader();
  try {
    const served = Object.entries(JSON.parse((await lines.read()).value!));
    const underBoth = served.flatMap(([name, address]) => [
      [name, address],
      [toOpenTofu(name), address],
    ]);
    await use({
      env: { ...env, TF_REATTACH_PROVIDERS: JSON.stringify(Object.fromEntries(underBoth)) },
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
