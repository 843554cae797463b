import { TAGS } from "./names.ts";
import {
  block,
  type Expression,
  expression,
  type HclBlock,
  type HclValue,
  quote,
  renderPolicy,
  resource,
} from "./hcl.ts";

/** The source of a variable: a secret of Secrets Manager, or a parameter of SSM. */
export interface VariableSource {
  readonly service: "secretsmanager" | "ssm";
  /** ARN of a secret, or name or ARN of a parameter, that exists. Without it, it belongs to the stage. */
  readonly existing?: string;
  /** The field of a secret that contains a JSON object. */
  readonly field?: string;
  /** Key that encrypts the value, instead of the AWS managed key. */
  readonly kmsKeyArn?: string;
  /** True for a secret that can be any random text, because only functions of the project know it. */
  readonly isGenerated?: boolean;
  /** True for a parameter whose value is encrypted, and for every secret. */
  readonly isSecret: boolean;
}

/** A source with the variable that it belongs to. */
export interface PlannedSource extends VariableSource {
  /** The variable's name. */
  readonly variable: string;
  /** The Terraform name. */
  readonly id: string;
  /** Names of the functions that read it. */
  readonly users: readonly string[];
  /** The function whose own value it is: the address with which it signs in to the database. */
  readonly owner?: string;
}

/** Returns the name of a source of the stage below the stage's prefix: `DATABASE_URL/NotesGet`. */
export function getSourceName(
  { variable, owner }: Pick<PlannedSource, "variable" | "owner">,
): string {
  return owner === undefined ? variable : `${variable}/${owner}`;
}

/** Name of the policy that lets a function read its sources. */
export const SOURCES_POLICY = "read-sources";

const PARTITION = "${data.aws_partition.sources.partition}";
const PREFIX = "${module.core.name_prefix}";
const ACCOUNT = "${module.core.region}:${module.core.account_id}";

/** Renders the value of the variable that names a source. */
export function renderSourceValue(
  source: PlannedSource,
): HclValue {
  const { service, existing, field, id } = source;
  if (service === "ssm") {
    return existing === undefined
      ? expression(`"ssm:/${PREFIX}/${getSourceName(source)}"`)
      : `ssm:${existing}`;
  }
  const suffix = field === undefined ? "" : `#${field}`;
  return existing === undefined
    ? expression(`"secretsmanager:\${aws_secretsmanager_secret.${id}.arn}"`)
    : `secretsmanager:${existing}${suffix}`;
}

/** Renders the policy that lets a function read exactly its sources, and use their keys. */
export function renderSourcePolicy(sources: readonly PlannedSource[]): Expression {
  const statements: { readonly [key: string]: HclValue }[] = [];
  const add = (sid: string, action: string, resources: readonly HclValue[], more = {}) => {
    if (resources.length === 0) return;
    statements.push({ Sid: sid, Effect: "Allow", Action: action, Resource: resources, ...more });
  };
  for (const [service, sid, action] of READS) {
    const all = sources.filter((each) => each.service === service);
    add(sid, action, unique(all.map(renderArn)));
    const keys = all.flatMap(({ kmsKeyArn }) => kmsKeyArn ?? []);
    add(`Decrypt${sid.slice("Read".length)}`, "kms:Decrypt", unique(keys), {
      Condition: {
        StringEquals: {
          "kms:ViaService": expression(`"${service}.\${module.core.region}.amazonaws.com"`),
        },
      },
    });
  }
  return renderPolicy(...statements);
}

const READS = [
  ["secretsmanager", "ReadSecrets", "secretsmanager:GetSecretValue"],
  ["ssm", "ReadParameters", "ssm:GetParameters"],
] as const;

function renderArn(source: PlannedSource): HclValue {
  const { service, existing, id } = source;
  if (existing?.startsWith("arn:")) return existing;
  if (service === "secretsmanager") return expression(`aws_secretsmanager_secret.${id}.arn`);
  const path = existing === undefined
    ? `/${PREFIX}/${getSourceName(source)}`
    : quote(`${existing.startsWith("/") ? "" : "/"}${existing}`).slice(1, -1);
  return expression(`"arn:${PARTITION}:ssm:${ACCOUNT}:parameter${path}"`);
}

function unique(values: readonly HclValue[]): HclValue[] {
  const seen = new Map(
    values.map((value) => [typeof value === "string" ? value : JSON.stringify(value), value]),
  );
  return [...seen.values()];
}

/**
 * Renders the secrets of the stage. Their values are not part of Terraform, so they are never in its
 * state: `trellis secrets set` puts them.
 */
export function renderSources(sources: readonly PlannedSource[]): HclBlock[] {
  const secrets = sources.filter(({ service, existing }) =>
    service === "secretsmanager" && existing === undefined
  );
  const named = sources.some((source) =>
    source.service === "ssm" && !source.existing?.startsWith("arn:")
  );
  return [
    ...named ? [block("data", ["aws_partition", "sources"])] : [],
    ...secrets.map((source) => {
      const { id, variable, kmsKeyArn, users } = source;
      return resource("aws_secretsmanager_secret", id, {
        name: expression(`"${PREFIX}/${getSourceName(source)}"`),
        description: `${variable} of ${users.join(", ")}.`.slice(0, MAX_DESCRIPTION),
        kms_key_id: kmsKeyArn,
        // a preview stage can be created again under its name at once
        recovery_window_in_days: expression("local.is_disposable ? 0 : 30"),
        tags: TAGS,
      });
    }),
  ];
}

/** Maximum length of a secret's description (CreateSecret, AWS Secrets Manager API reference). */
const MAX_DESCRIPTION = 2048;
