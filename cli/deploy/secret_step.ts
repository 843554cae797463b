import type { PlannedSource } from "../infra/sources.ts";
import { generateSecret, type SecretValues } from "../secrets/secret_values.ts";
import { type Deployment, StepError } from "./deployment.ts";

/**
 * Checks that all secrets and parameters of the stage have a value. With `--generate-secrets`, puts
 * random values for secrets that only the project's own functions know. Another value, such as the address of a
 * database, is known elsewhere: a random one would deploy, and fail in every request.
 *
 * @returns One line about the result; `undefined` if the functions read none.
 * @throws {StepError} If a value is missing.
 */
export async function checkSecrets(
  { context, plan, secrets, stage }: Deployment,
): Promise<string | undefined> {
  if (plan.secrets.length === 0) return undefined;
  const states = await Promise.all(plan.secrets.map((source) => secrets.find(source)));
  const missing = plan.secrets.filter((_, index) => states[index] !== "set");
  if (missing.length === 0) return `${plan.secrets.length} have a value`;
  if (
    context.options["generate-secrets"] === true && missing.every(({ isGenerated }) => isGenerated)
  ) {
    for (const source of missing) await generateValue(source, secrets);
    return `${missing.length} generated, ${plan.secrets.length - missing.length} had a value`;
  }
  const [subject, object] = missing.length === 1
    ? ["a value is", "it"]
    : [`${missing.length} values are`, "them"];
  const fixes = missing.map((source) => describeFix(source, stage.name));
  throw new StepError(`${subject} missing. Put ${object} first:\n${fixes.join("\n")}`);
}

/** Puts a random value. */
async function generateValue(source: PlannedSource, secrets: SecretValues): Promise<void> {
  if (await secrets.put(source, generateSecret())) return;
  throw new StepError(
    `the secret ${secrets.getName(source)} does not exist in AWS, although it was created: ` +
      "the region of the AWS clients differs, or it was deleted by hand. Set infra.region in trellis.config.ts",
  );
}

function describeFix({ variable, existing, isGenerated }: PlannedSource, stage: string): string {
  return existing === undefined
    ? `  trellis secrets set ${variable} --stage ${stage} ${isGenerated ? "--generate" : "< file"}`
    : `  ${variable}: ${existing} does not exist or has no value`;
}
