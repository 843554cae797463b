import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { checkRelease, describeBreak } from "../releases/check_release.ts";
import {
  MANIFEST_FILE,
  parseManifest,
  type ReleaseManifest,
} from "../releases/release_manifest.ts";
import { openReleaseRecord, type ReleaseRecord } from "../releases/release_record.ts";
import { count } from "../terminal/generated_report.ts";
import { type Deployment, StepError } from "./deployment.ts";

/** Checks of the releases of a stage that run during a deployment. */
export interface CompatSteps {
  /**
   * Checks that the pending migrations do not break the releases that run.
   *
   * @returns One line about the result.
   * @throws {StepError} If a statement of a release breaks.
   */
  check(): Promise<string | undefined>;
  /** Records the new release beside those that run, before it gets requests. */
  begin(): Promise<void>;
  /** Records that only the new release runs. */
  finish(): Promise<void>;
}

/**
 * Creates the steps of a deployment that know the running releases. A project without migrations has
 * no manifest, and the steps do nothing.
 *
 * @param deployment The deployment.
 */
export function createCompatSteps(deployment: Deployment): CompatSteps {
  const { context: { root, output, options }, plan: { config, folder }, stage } = deployment;
  const record: ReleaseRecord = openReleaseRecord(config.infra.state, folder, stage);
  const manifestFile = join(resolve(root, config.build.dir), MANIFEST_FILE);
  let running: readonly ReleaseManifest[] = [];

  function readNew(): ReleaseManifest | undefined {
    if (!existsSync(manifestFile)) return undefined;
    return parseManifest(readFileSync(manifestFile, "utf8"), manifestFile);
  }
  return {
    async check(): Promise<string | undefined> {
      if (readNew() === undefined) return undefined;
      try {
        running = await record.read();
      } catch (error) {
        // such as a role of a pipeline that may only read the state
        output.warn(
          `The running release is not checked: its record cannot be read (${
            (error as Error).name
          })`,
        );
        return "not checked";
      }
      if (running.length === 0) return "no release is recorded yet";
      const folder = resolve(root, config.database.migrationsDir);
      let checked = 0;
      const unchecked = new Set<string>();
      for (const release of running) {
        let found;
        try {
          found = await checkRelease(release, folder);
        } catch (error) {
          if (!(error instanceof ConfigurationError)) throw error;
          output.warn(`The running release is not checked: ${error.message}`);
          return "not checked";
        }
        if (found.breaks.length > 0 && options["allow-breaking"] !== true) {
          throw new StepError(
            `${
              found.breaks.map(describeBreak).join("\n")
            }\nThe running release would fail between the ` +
              "migrations and the end of the deployment. --allow-breaking deploys nevertheless",
          );
        }
        checked += found.checked;
        for (const one of found.unchecked) unchecked.add(one);
      }
      return `${count(checked, "statement")} of the running release, ${unchecked.size} unchecked`;
    },
    async begin(): Promise<void> {
      const next = readNew();
      if (next !== undefined) await record.write([...running, next]);
    },
    async finish(): Promise<void> {
      const next = readNew();
      if (next !== undefined) await record.write([next]);
    },
  };
}
