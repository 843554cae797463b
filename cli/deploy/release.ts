import type { CloudWatchClient } from "@aws-sdk/client-cloudwatch";
import type { LambdaClient } from "@aws-sdk/client-lambda";
import { systemClock } from "../../core/async/clock.ts";
import { limitClient } from "../../env/limit_request.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { count } from "../terminal/generated_report.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";
import { getStageRegion } from "../stages/stage_settings.ts";
import { type Deployment, StepError } from "./deployment.ts";

/** The output `release` of the generated Terraform. */
interface ReleaseOutput {
  /** Name of the alias. */
  readonly alias: string;
  /** Name of the alarm that stops a release. */
  readonly alarm: string;
  readonly functions: Readonly<Record<string, { readonly name: string; readonly version: string }>>;
}

/** A function whose alias moves from one version to another. */
interface Shift {
  readonly functionName: string;
  readonly from: string;
  readonly to: string;
  /** The description before the release. */
  readonly description: string;
  /** The time at which an interrupted release has begun. */
  readonly startedAt?: string;
}

/** Waits between two looks at the alarm. */
export type Wait = (ms: number) => Promise<void>;

const POLL_MS = 10_000;
const LIMIT_MS = 30_000;
/**
 * Descriptions of aliases. They remember the version before the last release, and the time of the release,
 * because a release moves only the functions that have changed.
 */
const PREVIOUS = /^previous version (\S+)(?:, release (\S+))?$/;
/** End of the description while requests are shared, before the time at which the release has begun. */
const UNDER_WAY = "; release under way since ";

/**
 * Moves the aliases to the new versions: first a share of the requests, then all of them. An alarm in
 * between moves them back.
 *
 * @param wait Waits a number of milliseconds.
 * @returns One line about the result; `undefined` without aliases.
 * @throws {StepError} If the alarm was raised.
 */
export async function shiftRelease(
  deployment: Deployment,
  wait: Wait = (ms) => systemClock.sleep(ms),
): Promise<string | undefined> {
  const release = await readRelease(deployment);
  if (release === undefined) return undefined;
  const { percent = 10, minutes = 5 } = deployment.plan.config.infra.release ?? {};
  const { output } = deployment.context;
  const aliases = await openAliases(release.alias, getStageRegion(deployment.stage));
  const shifts = await listShifts(release, aliases);
  if (shifts.length === 0) return "all aliases have the newest version";
  const isRaised = await openAlarm(release.alarm, getStageRegion(deployment.stage));
  if (await isRaised()) {
    throw new StepError(
      `the alarm ${release.alarm} is on, so a release could not be judged: nothing was moved`,
    );
  }
  output.note(`${percent} % of the requests go to the new versions for ${minutes} min`);
  const startedAt = shifts.find((shift) => shift.startedAt !== undefined)?.startedAt ??
    new Date().toISOString();
  try {
    for (const { functionName, from, to, description } of shifts) {
      const next = { version: to, share: percent / 100 };
      await aliases.move(functionName, from, next, `${description}${UNDER_WAY}${startedAt}`);
    }
    for (let passedMs = 0; passedMs < minutes * 60_000; passedMs += POLL_MS) {
      await wait(POLL_MS);
      if (await isRaised()) throw new StepError(`the alarm ${release.alarm} was raised`);
    }
  } catch (error) {
    throw await moveBack(aliases, shifts, error as Error);
  }
  for (const { functionName, from, to } of shifts) {
    const description = `previous version ${from}, release ${startedAt}`;
    await aliases.move(functionName, to, undefined, description);
  }
  return `${count(shifts.length, "function")} released`;
}

/**
 * Sends all requests to the previous versions again. Continues after a failure, so that as few functions as
 * possible keep two versions.
 *
 * @returns The error of the step, which names the functions that could not be moved.
 */
async function moveBack(
  aliases: Aliases,
  shifts: readonly Shift[],
  { message }: Error,
): Promise<StepError> {
  const failed: string[] = [];
  for (const { functionName, from, description } of shifts) {
    await aliases.move(functionName, from, undefined, description)
      .catch(() => failed.push(functionName));
  }
  if (failed.length === 0) {
    return new StepError(
      `${message}: all requests go to the previous versions again. The new versions exist but get none`,
    );
  }
  return new StepError(
    `${message}. A share of the requests still goes to the new versions of ${failed.join(", ")}: ` +
      "run trellis deploy --rollback",
  );
}

/**
 * Moves the aliases back to the versions before the last release, or ends a release that is under way.
 *
 * @returns One line about the result.
 * @throws {StepError} If there is nothing to go back to.
 */
export async function rollBackRelease(deployment: Deployment): Promise<string> {
  const release = await readRelease(deployment);
  if (release === undefined) {
    throw new StepError(
      "the functions have no aliases: set infra.release in trellis.config.ts and deploy. To go back " +
        "now, deploy the previous commit",
    );
  }
  const aliases = await openAliases(release.alias, getStageRegion(deployment.stage));
  const found = await Promise.all(
    Object.values(release.functions).map(async ({ name }) => ({
      name,
      ...await aliases.find(name),
    })),
  );
  const shifting = found.filter(({ isShifting }) => isShifting);
  for (const { name, version, description } of shifting) {
    await aliases.move(name, version, undefined, description);
  }
  const released = listLastRelease(found.filter(({ isShifting }) => !isShifting), shifting);
  for (const { name, version, previous } of released) {
    await aliases.move(name, previous, undefined, `rolled back from version ${version}`);
  }
  const count = shifting.length + released.length;
  if (count === 0) throw new StepError("no alias has a previous version: there was no release");
  return `${count} ${
    count === 1 ? "function has its" : "functions have their"
  } previous version. ` +
    "The database is unchanged";
}

interface FoundAlias {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly startedAt?: string;
}

/**
 * Lists the aliases that the last release has moved, with their previous versions. While a release is under
 * way, the last one is this release: it may have moved some functions completely.
 */
function listLastRelease(
  moved: readonly FoundAlias[],
  shifting: readonly FoundAlias[],
): (FoundAlias & { readonly previous: string })[] {
  const released = moved.flatMap((alias) => {
    const [, previous, at = ""] = PREVIOUS.exec(alias.description) ?? [];
    return previous === undefined ? [] : [{ ...alias, previous, at }];
  });
  const isUnderWay = shifting.length > 0;
  const times = isUnderWay
    ? shifting.map(({ startedAt = "none" }) => startedAt)
    : released.map(({ at }) => at);
  const last = times.sort().at(-1);
  return released.filter(({ at }) => at === last);
}

async function readRelease({ terraform }: Deployment): Promise<ReleaseOutput | undefined> {
  const { release } = await terraform.readOutputs();
  return release as ReleaseOutput | undefined;
}

async function listShifts({ functions }: ReleaseOutput, aliases: Aliases): Promise<Shift[]> {
  const all = await Promise.all(
    Object.values(functions).map(async ({ name, version }) => {
      const { version: from, description, startedAt } = await aliases.find(name);
      return { functionName: name, from, to: version, description, startedAt };
    }),
  );
  return all.filter(({ from, to }) => from !== to);
}

/** The aliases of one name. */
interface Aliases {
  find(functionName: string): Promise<Omit<FoundAlias, "name"> & { isShifting: boolean }>;
  /** Moves an alias to a version; `next` gets a share of the requests. */
  move(
    functionName: string,
    version: string,
    next?: { readonly version: string; readonly share: number },
    description?: string,
  ): Promise<void>;
}

async function openAliases(alias: string, region: { region?: string }): Promise<Aliases> {
  const { GetAliasCommand, LambdaClient, UpdateAliasCommand } = await import(
    "@aws-sdk/client-lambda"
  ).catch(explainMissing(CLI_PACKAGES, "@aws-sdk/client-lambda", "A release with aliases"));
  const client: LambdaClient = limitClient(new LambdaClient(region), {
    service: "AWS Lambda",
    limitMs: LIMIT_MS,
  });
  return {
    async find(functionName) {
      const found = await client.send(
        new GetAliasCommand({ FunctionName: functionName, Name: alias }),
      ).catch((cause: Error) => {
        throw new StepError(
          `the alias ${alias} of ${functionName} cannot be read: ${cause.name}: ${cause.message}`,
        );
      });
      const [description, startedAt] = (found.Description ?? "").split(UNDER_WAY);
      return {
        version: found.FunctionVersion ?? "",
        description,
        startedAt,
        isShifting: Object.keys(found.RoutingConfig?.AdditionalVersionWeights ?? {}).length > 0,
      };
    },
    async move(functionName, version, next, description): Promise<void> {
      await client.send(
        new UpdateAliasCommand({
          FunctionName: functionName,
          Name: alias,
          FunctionVersion: version,
          Description: description,
          RoutingConfig: {
            AdditionalVersionWeights: next === undefined ? {} : { [next.version]: next.share },
          },
        }),
      );
    },
  };
}

async function openAlarm(
  name: string,
  region: { region?: string },
): Promise<() => Promise<boolean>> {
  const { CloudWatchClient, DescribeAlarmsCommand } = await import("@aws-sdk/client-cloudwatch")
    .catch(explainMissing(CLI_PACKAGES, "@aws-sdk/client-cloudwatch", "A release with aliases"));
  const client: CloudWatchClient = limitClient(new CloudWatchClient(region), {
    service: "Amazon CloudWatch",
    limitMs: LIMIT_MS,
  });
  return async function isRaised(): Promise<boolean> {
    const { MetricAlarms = [] } = await client.send(
      new DescribeAlarmsCommand({ AlarmNames: [name] }),
    );
    if (MetricAlarms.length === 0) throw new StepError(`the alarm ${name} does not exist`);
    return MetricAlarms.some(({ StateValue }) => StateValue === "ALARM");
  };
}
