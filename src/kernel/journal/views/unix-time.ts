/**
 * RFC 3339 in UTC, as entries carry it, in Unix milliseconds; the kernel has no `Date`. Anything else is null: a view
 * shows a journal with a broken time rather than failing on it.
 */
const TIMESTAMP = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z$/;
const MS_PER_DAY = 86_400_000;

export function unixMsOf(ts: string): number | null {
  const match = TIMESTAMP.exec(ts);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ms = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  return daysSinceEpoch(year, month, day) * MS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000 + ms;
}

/** Years begin in March here, so that the leap day is a year's last; an era is 400 of them, 146,097 days. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
