import type { CloudWatchClient } from "@aws-sdk/client-cloudwatch";
import type { LambdaClient } from "@aws-sdk/client-lambda";
import { systemClock } from "../../core/async/clock.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { CLI_PACKAGES } from "../optional_packages.ts";
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
}

/** Waits between two looks at the alarm. */
export type Wait = (ms: number) => Promise<void>;

const POLL_MS = 10_000;
/** Start of an alias' description, which remembers the version before the last release. */
const PREVIOUS = "previous version ";

/**
 * Moves the aliases to the new versions: first a share of the requests, then all of them. An alarm in
 * between moves them back.
 *
 * @param deployment The deployment.
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
  const aliases = await openAliases(release.alias, getRegion(deployment));
  const shifts = await listShifts(release, aliases);
  if (shifts.length === 0) return "all aliases have the newest version";
  const isRaised = await openAlarm(release.alarm, getRegion(deployment));
  if (await isRaised()) {
    throw new StepError(
      `the alarm ${release.alarm} is on, so a release could not be judged: nothing was moved`,
    );
  }
  output.note(`${percent} % of the requests go to the new versions for ${minutes} min`);
  for (const { functionName, from, to } of shifts) {
    await aliases.move(functionName, from, { version: to, share: percent / 100 });
  }
  for (let passedMs = 0; passedMs < minutes * 60_000; passedMs += POLL_MS) {
    await wait(POLL_MS);
    if (!await isRaised()) continue;
    for (const { functionName, from } of shifts) await aliases.move(functionName, from);
    throw new StepError(
      `the alarm ${release.alarm} was raised: all requests go to the previous versions again. The ` +
        "new versions exist but get none",
    );
  }
  for (const { functionName, from, to } of shifts) {
    await aliases.move(functionName, to, undefined, `${PREVIOUS}${from}`);
  }
  return `${shifts.length} ${shifts.length === 1 ? "function" : "functions"} released`;
}

/**
 * Moves the aliases back to the versions before the last release, or ends a release that is under way.
 *
 * @param deployment The deployment.
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
  const aliases = await openAliases(release.alias, getRegion(deployment));
  let count = 0;
  for (const { name } of Object.values(release.functions)) {
    const alias = await aliases.find(name);
    const previous = alias.description.startsWith(PREVIOUS)
      ? alias.description.slice(PREVIOUS.length)
      : undefined;
    if (alias.isShifting) await aliases.move(name, alias.version);
    else if (previous !== undefined) {
      await aliases.move(name, previous, undefined, `rolled back from version ${alias.version}`);
    } else continue;
    count++;
  }
  if (count === 0) throw new StepError("no alias has a previous version: there was no release");
  return `${count} ${
    count === 1 ? "function has its" : "functions have their"
  } previous version. ` +
    "The database is unchanged";
}

async function readRelease({ terraform }: Deployment): Promise<ReleaseOutput | undefined> {
  const { release } = await terraform.readOutputs();
  return release as ReleaseOutput | undefined;
}

function getRegion({ stage }: Deployment): string | undefined {
  const { region } = stage.variables;
  return typeof region === "string" ? region : undefined;
}

async function listShifts({ functions }: ReleaseOutput, aliases: Aliases): Promise<Shift[]> {
  const all = await Promise.all(
    Object.values(functions).map(async ({ name, version }) => ({
      functionName: name,
      from: (await aliases.find(name)).version,
      to: version,
    })),
  );
  return all.filter(({ from, to }) => from !== to);
}

/** The aliases of one name. */
interface Aliases {
  find(
    functionName: string,
  ): Promise<{ version: string; description: string; isShifting: boolean }>;
  /** Moves an alias to a version; `next` gets a share of the requests. */
  move(
    functionName: string,
    version: string,
    next?: { readonly version: string; readonly share: number },
    description?: string,
  ): Promise<void>;
}

async function openAliases(alias: string, region: string | undefined): Promise<Aliases> {
  const { GetAliasCommand, LambdaClient, UpdateAliasCommand } = await import(
    "@aws-sdk/client-lambda"
  ).catch(explainMissing(CLI_PACKAGES, "@aws-sdk/client-lambda", "A release with aliases"));
  const client: LambdaClient = new LambdaClient(region === undefined ? {} : { region });
  return {
    async find(functionName) {
      const found = await client.send(
        new GetAliasCommand({ FunctionName: functionName, Name: alias }),
      ).catch((cause: Error) => {
        throw new StepError(
          `the alias ${alias} of ${functionName} cannot be read: ${cause.name}: ${cause.message}`,
        );
      });
      return {
        version: found.FunctionVersion ?? "",
        description: found.Description ?? "",
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
  region: string | undefined,
): Promise<() => Promise<boolean>> {
  const { CloudWatchClient, DescribeAlarmsCommand } = await import("@aws-sdk/client-cloudwatch")
    .catch(explainMissing(CLI_PACKAGES, "@aws-sdk/client-cloudwatch", "A release with aliases"));
  const client: CloudWatchClient = new CloudWatchClient(region === undefined ? {} : { region });
  return async function isRaised(): Promise<boolean> {
    const { MetricAlarms = [] } = await client.send(
      new DescribeAlarmsCommand({ AlarmNames: [name] }),
    );
    if (MetricAlarms.length === 0) throw new StepError(`the alarm ${name} does not exist`);
    return MetricAlarms.some(({ StateValue }) => StateValue === "ALARM");
  };
}
