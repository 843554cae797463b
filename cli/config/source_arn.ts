/** The ARN of a resource, or a reference to it in Terraform files of your own. */
export type SourceArn =
  | string
  /** A reference such as `aws_kinesis_stream.orders.arn` or `module.orders.stream_arn`. */
  | { reference: string };
