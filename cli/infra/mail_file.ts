import { TAGS } from "./names.ts";
import { block, expression, type HclBlock, output, renderPolicy, resource } from "./hcl.ts";
import type { InfraFunction, TerraformVariable } from "./infra_plan.ts";
import { DEFAULT_BUS, getResource, type Resources } from "./resources.ts";

/** Name of the policy of functions that send mails through Amazon SES. */
export const MAIL_POLICY = "send-mail";

/** Value of the variable `MAIL_CONFIGURATION_SET`. */
export const CONFIGURATION_SET = "aws_sesv2_configuration_set.mail.configuration_set_name";

/** Events that a handler of mail events receives. */
const EVENTS = ["BOUNCE", "COMPLAINT", "DELIVERY_DELAY", "REJECT", "RENDERING_FAILURE"];

/** Variable that is false in the second stage of an account: an identity exists once in it. */
export const IDENTITY_VARIABLE: TerraformVariable = {
  name: "manage_mail_identity",
  description:
    "Create the mail identity; false where another stage of the account and region has created it.",
  type: "bool",
  default: true,
};

/** Checks whether a function handles bounces and complaints. */
export function handlesMailEvents(fn: InfraFunction): boolean {
  return fn.definer === "defineMailEventHandler" &&
    (fn.kind === "topic" || getResource(fn) === DEFAULT_BUS);
}

/**
 * Renders the identity that mails are sent from, its configuration set, the right to send, and the
 * destinations of bounces and complaints.
 *
 * @param identity The domain or the address.
 */
export function renderMail(
  identity: string,
  functions: readonly InfraFunction[],
  topics: Resources,
): HclBlock[] {
  const tags = TAGS;
  const name = expression(`"\${module.core.name_prefix}-mail"`);
  return [
    block("data", ["aws_partition", "mail"]),
    block("locals", [], {
      mail_arn: expression(
        '"arn:${data.aws_partition.mail.partition}:ses:${module.core.region}:${module.core.account_id}"',
      ),
      mail_policy_json: renderPolicy({
        Sid: "SendMail",
        Effect: "Allow",
        Action: "ses:SendEmail",
        Resource: [
          expression(`"\${local.mail_arn}:identity/${identity}"`),
          expression(
            '"${local.mail_arn}:configuration-set/${module.core.name_prefix}-mail"',
          ),
        ],
      }),
    }),
    resource("aws_sesv2_email_identity", "mail", {
      count: expression(`var.${IDENTITY_VARIABLE.name} ? 1 : 0`),
      email_identity: identity,
      tags,
    }),
    resource(
      "aws_sesv2_configuration_set",
      "mail",
      { configuration_set_name: name, tags },
      block("delivery_options", [], { tls_policy: "REQUIRE" }),
      block("reputation_options", [], { reputation_metrics_enabled: true }),
      block("suppression_options", [], { suppressed_reasons: ["BOUNCE", "COMPLAINT"] }),
    ),
    ...functions.filter(handlesMailEvents).map((fn) => renderDestination(fn, topics)),
    ...renderIdentityOutput(identity),
  ];
}

function renderDestination(fn: InfraFunction, topics: Resources): HclBlock {
  const topic = fn.kind === "topic"
    ? `module.topic_${topics.ids.get(getResource(fn)!)}`
    : undefined;
  const destination = topic !== undefined
    ? block("sns_destination", [], { topic_arn: expression(`${topic}.topic_arn`) })
    : block("event_bridge_destination", [], {
      // SES sends to the default bus only
      event_bus_arn: expression(
        '"arn:${data.aws_partition.mail.partition}:events:${module.core.region}:${module.core.account_id}:event-bus/default"',
      ),
    });
  return resource(
    "aws_sesv2_configuration_set_event_destination",
    fn.id,
    {
      configuration_set_name: expression(CONFIGURATION_SET),
      event_destination_name: fn.name,
    },
    block(
      "event_destination",
      [],
      { enabled: true, matching_event_types: EVENTS },
      destination,
    ),
    // SES checks at once whether it may publish
    topic === undefined ? {} : { depends_on: [expression(topic)] },
  );
}

/** A domain is verified by records that its owner adds; an address by a mail. */
function renderIdentityOutput(identity: string): HclBlock[] {
  if (identity.includes("@")) return [];
  return [
    output(
      "mail_dkim_records",
      `CNAME records that ${identity} needs, by name, before mails can be sent.`,
      expression(
        "{ for token in flatten(aws_sesv2_email_identity.mail[*].dkim_signing_attributes[*].tokens) : " +
          `"\${token}._domainkey.${identity}" => "\${token}.dkim.amazonses.com" }`,
      ),
    ),
  ];
}

/** The topic module's arguments that let SES publish to a topic. */
export const MAIL_PUBLISHER = {
  // the account's key admits no services
  create_kms_key: true,
  publisher_services: [{
    service: "ses.amazonaws.com",
    source_arn: expression(
      '"${local.mail_arn}:configuration-set/${module.core.name_prefix}-mail"',
    ),
  }],
} as const;
