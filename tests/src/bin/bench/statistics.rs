//! Medians, and how far the rounds lie apart.

/// The middle value; of two, the mean.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// How far the middle half of the values spreads, as a part of the median.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let quarter = sorted.len() / 4;
    match (sorted.get(quarter), sorted.iter().nth_back(quarter)) {
        (Some(low), Some(high)) => (high - low) / median(values),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), 3.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_spread_leaves_out_the_outer_quarters() {
        assert_eq!(spread(&[1000.0, 10.0, 11.0, 9.0, 0.0]), 0.2);
    }
}
