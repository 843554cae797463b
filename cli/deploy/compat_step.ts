import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import { checkRelease, describeBreak, listPending } from "../releases/check_release.ts";
import {
  MANIFEST_FILE,
  parseManifest,
  type ReleaseManifest,
} from "../releases/release_manifest.ts";
import { openReleaseRecord, type StageReleases } from "../releases/release_record.ts";
import { count } from "../terminal/generated_report.ts";
import { type OpenStage, StepError } from "./deployment.ts";

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
  /**
   * Records that only the new release runs.
   *
   * @param hasMoved True if functions have got new versions.
   */
  finish(hasMoved: boolean): Promise<void>;
  /**
   * Checks that the previous release works with the present schema, and records it beside the running one.
   *
   * @param isUnderWay True if a release is ended that shares the requests with the one before.
   * @returns Records that only the release before runs.
   * @throws {StepError} If a statement of it breaks, or if it cannot be checked.
   */
  beginRollback(isUnderWay: boolean): Promise<() => Promise<void>>;
}

/**
 * Creates the steps of a deployment that know the running releases. A project without migrations has
 * no manifest, and the steps do nothing.
 */
export function createCompatSteps(opened: OpenStage): CompatSteps {
  const { context: { root, output, options }, config, folder, stage } = opened;
  const record = openReleaseRecord(config.infra.state, folder, stage);
  const manifestFile = join(resolve(root, config.build.dir), MANIFEST_FILE);
  const migrationsFolder = resolve(root, config.database.migrationsDir);
  const isBreaking = options["allow-breaking"] === true;
  let found: StageReleases = { running: [], previous: null };

  function readNew(): ReleaseManifest | undefined {
    if (!existsSync(manifestFile)) return undefined;
    return parseManifest(readFileSync(manifestFile, "utf8"), manifestFile);
  }
  return {
    async check(): Promise<string | undefined> {
      if (readNew() === undefined) return undefined;
      try {
        found = await record.read();
      } catch (error) {
        const problem = `its record cannot be read (${(error as Error).name})`;
        // a deployment would replace the record, and nobody would know what runs
        if (options.plan !== true && !isBreaking) {
          throw new StepError(
            `The running release cannot be checked: ${problem}. The object beside the state ends with .releases.json: ` +
              "allow s3:GetObject on it, or run the command again. --allow-breaking deploys without the check",
          );
        }
        // such as a role of a pipeline that may only read the state
        output.warn(`The running release is not checked: ${problem}`);
        return "not checked";
      }
      if (found.running.length === 0) return "no release is recorded yet";
      const { files } = readMigrationFolder(migrationsFolder);
      let pending = 0;
      let checked = 0;
      const unchecked = new Set<string>();
      for (const release of found.running) {
        let result;
        try {
          // the database for the check takes seconds
          const known = pending;
          pending += listPending(release, files).length;
          if (pending === known) continue;
          result = await checkRelease(release, migrationsFolder);
        } catch (error) {
          if (!(error instanceof ConfigurationError)) throw error;
          output.warn(`The running release is not checked: ${error.message}`);
          return "not checked";
        }
        if (result.breaks.length > 0 && !isBreaking) {
          throw new StepError(
            `${
              result.breaks.map(describeBreak).join("\n")
            }\nThe running release would fail between the ` +
              "migrations and the end of the deployment. --allow-breaking deploys nevertheless",
          );
        }
        checked += result.checked;
        for (const one of result.unchecked) unchecked.add(one);
      }
      if (pending === 0) return "the running release knows all migrations";
      return `${count(checked, "statement")} of the running release, ${unchecked.size} unchecked`;
    },
    async begin(): Promise<void> {
      const next = readNew();
      if (next === undefined) return;
      await record.write({ ...found, running: [...found.running, next] });
    },
    async finish(hasMoved): Promise<void> {
      const next = readNew();
      if (next === undefined) return;
      // a deployment that was killed at its end has moved the functions, and has left both releases
      const before = found.running.findLast((each) => !isSame(each, next)) ??
        (hasMoved ? found.running.at(-1) : undefined);
      await record.write({ running: [next], previous: before ?? found.previous });
    },
    async beginRollback(isUnderWay): Promise<() => Promise<void>> {
      const { running, previous } = await record.read();
      const target = isUnderWay && running.length > 1 ? running.at(-2)! : previous;
      if (target === null) {
        if (running.length > 0) {
          output.warn(
            "Whether the release before fits the schema is not checked: it is not recorded",
          );
        }
        return async () => {};
      }
      const refuse = (problem: string) => {
        if (isBreaking) return;
        throw new StepError(
          `${problem}\nNothing was moved. --allow-breaking goes back nevertheless`,
        );
      };
      try {
        const pending = listPending(target, readMigrationFolder(migrationsFolder).files);
        const { breaks } = pending.length === 0
          ? { breaks: [] }
          : await checkRelease(target, migrationsFolder);
        if (breaks.length > 0) {
          refuse(
            `${
              breaks.map(describeBreak).join("\n")
            }\nThe release before would fail with the migrations that were applied ` +
              "since: deploy a correction of the present release",
          );
        }
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        refuse(`The release before cannot be checked: ${error.message}`);
      }
      await record.write({ running: [...running, target], previous });
      return async () => {
        await record.write({ running: [target], previous: isUnderWay ? previous : null });
      };
    },
  };
}

function isSame(one: ReleaseManifest, other: ReleaseManifest): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
