export interface Page {
  readonly limit: number;
  readonly offset: number;
}
