import type { CloudWatchClient } from "@aws-sdk/client-cloudwatch";
import type { LambdaClient } from "@aws-sdk/client-lambda";
import { systemClock } from "../../core/async/clock.ts";
import { LOAD_PROBE } from "../../core/with_observability.ts";
import { limitClient } from "../../env/limit_request.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { count } from "../terminal/generated_report.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";
import { getStageRegion } from "../stages/stage_settings.ts";
import type { CompatSteps } from "./compat_step.ts";
import { type Deployment, mapSome, StepError } from "./deployment.ts";
import type { FunctionError } from "./migration_function.ts";

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
const ROLLED_BACK = /^rolled back from version \S+(?:, release (\S+))?$/;
/** End of the description while requests are shared, before the time at which the release has begun. */
const UNDER_WAY = "; release under way since ";

/**
 * Moves the aliases to the new versions, if these load: first a share of the requests, then all of them. An alarm in
 * between moves them back. With `--allow-alarm`, an alarm that is on before lets all requests go to the new versions at
 * once: while it is on, they cannot be judged.
 *
 * @param checkLock Throws if another deployment, or a rollback, has taken the lock of the stage: then no alias moves any more.
 * @param wait Waits a number of milliseconds.
 * @returns One line about the result, and how many functions were moved; `undefined` without aliases.
 * @throws {StepError} If a version does not load, or if the alarm was on before or is raised.
 */
export async function shiftRelease(
  deployment: Deployment,
  checkLock: () => Promise<void>,
  wait: Wait = (ms) => systemClock.sleep(ms),
): Promise<{ readonly summary: string; readonly moved: number } | undefined> {
  const release = await readRelease(deployment);
  if (release === undefined) return undefined;
  const { percent = 10, minutes = 5 } = deployment.plan.config.infra.release ?? {};
  const { options, output } = deployment.context;
  const aliases = await openAliases(release.alias, getStageRegion(deployment.stage));
  const shifts = await listShifts(release, aliases);
  if (shifts.length === 0) return { summary: "all aliases have the newest version", moved: 0 };
  const isRaised = await openAlarm(release.alarm, getStageRegion(deployment.stage));
  const goBack = `trellis deploy --stage ${deployment.stage.name} --rollback`;
  const isJudged = !await isRaised();
  if (!isJudged && options["allow-alarm"] !== true) {
    throw new StepError(
      `the alarm ${release.alarm} is on, so a release could not be judged: nothing was moved. Go back with ${goBack}, ` +
        "or release a correction to all requests at once with --allow-alarm",
    );
  }
  await requireLoading(deployment, shifts, aliases);
  const startedAt = shifts.find((shift) => shift.startedAt !== undefined)?.startedAt ??
    new Date().toISOString();
  if (isJudged) {
    output.note(
      `${percent} % of the requests go to the new versions for ${minutes} min. If this command is stopped in this ` +
        `time, they do so until the next deployment, or ${goBack}`,
    );
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
      await checkLock();
      throw await moveBack(aliases, shifts, error as Error, goBack);
    }
    await checkLock();
  }
  for (const { functionName, from, to } of shifts) {
    const description = `previous version ${from}, release ${startedAt}`;
    await aliases.move(functionName, to, undefined, description);
  }
  return { summary: `${count(shifts.length, "function")} released`, moved: shifts.length };
}

/**
 * Loads the new versions of functions that this package defines: they answer the event before anything else.
 *
 * @throws {StepError} If one does not load, with its error.
 */
async function requireLoading(
  { context: { output }, plan: { sources }, prefix }: Deployment,
  shifts: readonly Shift[],
  aliases: Aliases,
): Promise<void> {
  const names = sources.functions.filter(({ definer }) => definer !== undefined)
    .map(({ name }) => `${prefix}-${name}`);
  const tried = shifts.filter(({ functionName }) => names.includes(functionName));
  const problems = await mapSome(tried, async ({ functionName, to }) => {
    try {
      const problem = await aliases.load(functionName, to);
      return problem === undefined ? [] : [`${functionName}: ${problem}`];
    } catch (error) {
      if ((error as Error).name !== "AccessDeniedException") throw error;
      output.warn(`Whether ${functionName} loads was not tried: lambda:InvokeFunction is denied`);
      return [];
    }
  });
  if (problems.flat().length === 0) return;
  throw new StepError(
    `${
      problems.flat().join("\n")
    }\nA new version that does not load would answer no request: nothing was moved`,
  );
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
  goBack: string,
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
      `run ${goBack}`,
  );
}

/**
 * Moves the aliases back to the versions before the last release, or ends a release that is under way.
 *
 * @param begin Called before the first alias moves; what it returns is called after the last one. If it throws, none is
 * moved.
 * @returns One line about the result.
 * @throws {StepError} If there is nothing to go back to, or if a version needs secrets that its role no longer reads.
 */
export async function rollBackRelease(
  deployment: Deployment,
  begin: CompatSteps["beginRollback"],
): Promise<string> {
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
  const released = listLastRelease(found.filter(({ isShifting }) => !isShifting), shifting);
  const total = shifting.length + released.length;
  if (total === 0) {
    const isBack = found.some(({ description }) => ROLLED_BACK.test(description));
    throw new StepError(
      isBack
        ? "the last release was rolled back already: to go back further, deploy an earlier commit"
        : "no alias has a previous version: there was no release",
    );
  }
  await requireReadableSecrets(released, aliases);
  const finish = await begin(shifting.length > 0);
  for (const { name, version, description } of shifting) {
    await aliases.move(name, version, undefined, description);
  }
  for (const { name, version, previous, at } of released) {
    const description = `rolled back from version ${version}, release ${at}`;
    await aliases.move(name, previous, undefined, description);
  }
  await finish();
  const subject = total === 1 ? "function has its" : "functions have their";
  return `${total} ${subject} previous version. The database is unchanged`;
}

/**
 * Checks that versions need no secret that the functions' roles no longer read: roles and secrets have no versions. Such
 * are the versions from before functions had their own logins.
 *
 * @throws {StepError} If one does.
 */
async function requireReadableSecrets(
  released: readonly (FoundAlias & { readonly previous: string })[],
  aliases: Aliases,
): Promise<void> {
  const problems = await mapSome(released, async ({ name, version, previous }) => {
    const [now, before] = await Promise.all([
      aliases.listSources(name, version),
      aliases.listSources(name, previous),
    ]);
    return [...before].filter(([, source]) => ![...now.values()].includes(source))
      .map(([variable]) => `${name} (version ${previous}): ${variable}`);
  });
  if (problems.flat().length === 0) return;
  throw new StepError(
    `the previous versions read secrets that their roles no longer may:\n${
      problems.flat().join("\n")
    }\nNothing was moved: deploy the commit before, which also changes the roles back`,
  );
}

interface FoundAlias {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly startedAt?: string;
}

/**
 * Lists the aliases that the last release has moved, with their previous versions; none if it was rolled back. While a release is under
 * way, the last one is this release: it may have moved some functions completely.
 */
function listLastRelease(
  moved: readonly FoundAlias[],
  shifting: readonly FoundAlias[],
): (FoundAlias & { readonly previous: string; readonly at: string })[] {
  const released = moved.flatMap((alias) => {
    const [, previous, at = ""] = PREVIOUS.exec(alias.description) ?? [];
    return previous === undefined ? [] : [{ ...alias, previous, at }];
  });
  const isUnderWay = shifting.length > 0;
  const times = isUnderWay
    ? shifting.map(({ startedAt = "none" }) => startedAt)
    : moved.map(({ description }) =>
      PREVIOUS.exec(description)?.[2] ?? ROLLED_BACK.exec(description)?.[1] ?? ""
    );
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
  /** Loads a version. Returns what is wrong with it; `undefined` if it loads. */
  load(functionName: string, version: string): Promise<string | undefined>;
  /** Lists the variables of a version that name a secret or a parameter, with what they name. */
  listSources(functionName: string, version: string): Promise<Map<string, string>>;
}

async function openAliases(alias: string, region: { region?: string }): Promise<Aliases> {
  const {
    GetAliasCommand,
    GetFunctionConfigurationCommand,
    InvokeCommand,
    LambdaClient,
    UpdateAliasCommand,
  } = await import("@aws-sdk/client-lambda").catch(
    explainMissing(CLI_PACKAGES, "@aws-sdk/client-lambda", "A release with aliases"),
  );
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
    async load(FunctionName, Qualifier) {
      const Payload = JSON.stringify({ [LOAD_PROBE]: true });
      const answer = await client.send(new InvokeCommand({ FunctionName, Qualifier, Payload }));
      if (answer.FunctionError === undefined) return undefined;
      const text = new TextDecoder().decode(answer.Payload);
      const { errorType = "Error", errorMessage = "" } = JSON.parse(text) as FunctionError;
      return `${errorType}: ${errorMessage}`;
    },
    async listSources(FunctionName, Qualifier) {
      const { Environment: { Variables = {} } = {} } = await client.send(
        new GetFunctionConfigurationCommand({ FunctionName, Qualifier }),
      );
      return new Map(
        Object.entries(Variables).filter(([, value]) => /^(?:secretsmanager|ssm):/.test(value)),
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
