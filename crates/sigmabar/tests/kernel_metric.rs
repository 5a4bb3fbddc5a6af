//! The kernel metric against values computed with 60 digits.
//!
//! With `k` written out literally in mpmath for the kernels of `kernel` below, each row is
//! `(name, s, k(x, z), sqrt(k(x, x) + k(z, z) - 2 k(x, z)))` at `x = [0.5, -1.25]`, `z = [0.5 + s, -1.25 - s / 2]`, the points being taken
//! as the exact values of their doubles.

#![allow(clippy::unwrap_used)]

use sigmabar::{Kernel, Points};

fn kernel(name: &str) -> Kernel {
    let lengths = vec![0.7, 1.9];
    let variance = 1.7;
    if let Some(nu) = name.strip_prefix("matern_") {
        return Kernel::matern(nu.parse().unwrap(), lengths, variance).unwrap();
    }
    let squared_exponential = Kernel::squared_exponential(lengths.clone(), variance).unwrap();
    let periodic = Kernel::periodic(vec![1.1, 2.3], lengths.clone(), variance).unwrap();
    let linear = Kernel::linear(0.4, lengths.clone(), variance).unwrap();
    match name {
        "squared_exponential" => squared_exponential,
        "rational_quadratic" => Kernel::rational_quadratic(0.8, lengths, variance).unwrap(),
        "periodic" => periodic,
        "linear" => linear,
        "sum" => squared_exponential + linear,
        "product" => squared_exponential * Kernel::matern(1.5, lengths, variance).unwrap() * periodic,
        "product_linear" => squared_exponential * linear,
        _ => panic!("{name}"),
    }
}

#[test]
fn values_and_metrics_match_the_table() {
    for &(name, s, value, metric) in TABLE {
        let kernel = kernel(name);
        let x = [0.5, -1.25];
        let z = [0.5 + s, -1.25 - s / 2.0];
        let found = kernel.value(&x, &z);
        assert!((found - value).abs() <= 2e-13 * value.abs() + 1e-300, "{name} {s:e}: {found:e} instead of {value:e}");
        let found = kernel.metric(&x, &z);
        assert!((found / metric - 1.0).abs() < 1e-10, "{name} {s:e}: {found:e} instead of {metric:e}, {:e}", found / metric - 1.0);
        assert_eq!(found, kernel.metric(&z, &x), "{name} {s:e} is not symmetric");
        assert_eq!(kernel.metric(&z, &z), 0.0, "{name}");
    }
}

#[test]
fn hamming_metric_is_the_printed_formula() {
    let kernel = Kernel::hamming(vec![0.5, 2.0, 1e9], 3.0).unwrap();
    let d = |z: &[f64]| kernel.metric(&[1.0, 2.0, 3.0], z);
    assert_eq!(d(&[1.0, 2.0, 3.0]), 0.0);
    assert!((d(&[0.0, 2.0, 3.0]) - (6.0 * (1.0 - (-2.0f64).exp())).sqrt()).abs() < 1e-14);
    assert!((d(&[0.0, 0.0, 3.0]) - (6.0 * (1.0 - (-2.5f64).exp())).sqrt()).abs() < 1e-14);
    assert!((d(&[1.0, 2.0, 0.0]) / 6e-9f64.sqrt() - 1.0).abs() < 1e-9);
}

#[test]
fn metric_block_repeats_the_metric() {
    let x = Points::from_rows(&[[0.0, 1.0], [0.5, -1.0], [2.0, 2.0]]).unwrap();
    let z = Points::from_rows(&[[0.1, 1.0], [0.5, -1.0]]).unwrap();
    for name in ["sum", "product", "matern_4.2"] {
        let kernel = kernel(name);
        let block = kernel.metric_block(x.view(), z.view()).unwrap();
        for i in 0..3 {
            for j in 0..2 {
                assert_eq!(block[(i, j)], kernel.metric(x.row(i), z.row(j)));
            }
        }
    }
}

#[test]
fn cells_are_covered() {
    let half = [0.4, 0.9];
    for name in
        ["squared_exponential", "rational_quadratic", "periodic", "linear", "matern_0.5", "matern_1", "matern_2.5", "sum", "product"]
    {
        let kernel = kernel(name);
        let bound = kernel.metric_over_cell(&half).unwrap();
        let centre = [0.3, -0.2];
        let mut largest = 0f64;
        for i in -20..=20 {
            for j in -20..=20 {
                let x = [centre[0] + half[0] * f64::from(i) / 20.0, centre[1] + half[1] * f64::from(j) / 20.0];
                largest = largest.max(kernel.metric(&centre, &x));
            }
        }
        assert!(largest <= bound * (1.0 + 1e-12), "{name}: {largest} > {bound}");
        assert!(largest >= bound * 0.97, "{name}: {bound} is far above {largest}");
    }
    let wide = kernel("periodic").metric_over_cell(&[100.0, 100.0]).unwrap();
    let farthest = kernel("periodic").metric(&[0.0, 0.0], &[0.55, 1.15]);
    assert!((wide / farthest - 1.0).abs() < 1e-12);
    assert_eq!(kernel("product_linear").metric_over_cell(&half), None);
    let hamming = Kernel::hamming(1.0, 1.0).unwrap();
    assert_eq!(hamming.metric_over_cell(&half), None);
    assert_eq!(hamming.metric_over_cell(&[0.0, 0.0]), Some(0.0));
    let mixed = hamming.columns(vec![0]).unwrap() * Kernel::squared_exponential(1.0, 1.0).unwrap().columns(vec![1]).unwrap();
    assert!(mixed.metric_over_cell(&[0.0, 0.5]).is_some());
}

#[test]
fn lipschitz_constants_hold() {
    for name in ["squared_exponential", "rational_quadratic", "matern_1.5", "matern_2.5", "matern_4.2"] {
        let kernel = kernel(name);
        let constant = kernel.metric_lipschitz().unwrap();
        for s in [1e-9, 1e-3, 0.1, 1.0, 5.0] {
            let rho = s / 0.7;
            let metric = kernel.metric(&[0.0, 0.0], &[s, 0.0]);
            assert!(metric <= 1.7f64.sqrt() * constant * rho * (1.0 + 1e-12), "{name} {s}");
        }
        let metric = kernel.metric(&[0.0, 0.0], &[7e-9, 0.0]);
        assert!((metric / (1.7f64.sqrt() * constant * 1e-8) - 1.0).abs() < 1e-4, "{name}: the constant is not the smallest");
    }
    for name in ["matern_0.5", "matern_1", "periodic", "linear", "sum", "product"] {
        assert_eq!(kernel(name).metric_lipschitz(), None, "{name}");
    }
}

/// Kernel, separation, value, metric.
#[allow(clippy::excessive_precision)]
const TABLE: &[(&str, f64, f64, f64)] = &[
    ("squared_exponential", 1e-12, 1.7, 1.8939334001507328e-12),
    ("squared_exponential", 1e-09, 1.7, 1.893968349840575e-09),
    ("squared_exponential", 1e-06, 1.6999999999982065, 1.8939683965654088e-06),
    ("squared_exponential", 0.0001, 1.6999999820644187, 0.00018939683915089706),
    ("squared_exponential", 0.01, 1.6998206536466454, 0.018939184425666358),
    ("squared_exponential", 0.05, 1.695522012774461, 0.09463601032946045),
    ("squared_exponential", 0.3, 1.5460065283277074, 0.5549657136657952),
    ("squared_exponential", 1.0, 0.5919068816476596, 1.4886860772858328),
    ("squared_exponential", 3.0, 0.0001278465850277692, 1.8438395556094203),
    ("squared_exponential", 10.0, 2.5757025301331787e-46, 1.8439088914585775),
    ("rational_quadratic", 1e-12, 1.7, 1.8939334001507328e-12),
    ("rational_quadratic", 1e-09, 1.7, 1.893968349840575e-09),
    ("rational_quadratic", 1e-06, 1.6999999999982065, 1.8939683965647843e-06),
    ("rational_quadratic", 0.0001, 1.6999999820644187, 0.00018939683852645914),
    ("rational_quadratic", 0.01, 1.6998206654710155, 0.018938560081723444),
    ("rational_quadratic", 0.05, 1.6955293688168245, 0.09455824853681957),
    ("rational_quadratic", 0.3, 1.5541062180046747, 0.5401736424434743),
    ("rational_quadratic", 1.0, 0.8674398585281402, 1.2903953979086098),
    ("rational_quadratic", 3.0, 0.22019600843552822, 1.7203511220471661),
    ("rational_quadratic", 10.0, 0.03401599043990681, 1.8253679133588896),
    ("periodic", 1e-12, 1.7, 1.068029624144685e-11),
    ("periodic", 1e-09, 1.7, 1.0680523086769352e-08),
    ("periodic", 1e-06, 1.6999999999429631, 1.068052337991465e-05),
    ("periodic", 0.0001, 1.6999994296322127, 0.0010680522339702497),
    ("periodic", 0.01, 1.6943074127359279, 0.10670133330068643),
    ("periodic", 0.05, 1.5641070404523174, 0.5213309113177206),
    ("periodic", 0.3, 0.1614500166900581, 1.7541664592107227),
    ("periodic", 1.0, 0.9861040182328649, 1.194902491224397),
    ("periodic", 3.0, 0.10673778360105081, 1.7850838727628173),
    ("periodic", 10.0, 1.058750455853645, 1.132474762761939),
    ("linear", 1e-12, 2.283150262877262, 1.8939334001507328e-12),
    ("linear", 1e-09, 2.2831502649042483, 1.893968349840575e-09),
    ("linear", 1e-06, 2.2831522918904406, 1.8939683965659083e-06),
    ("linear", 0.0001, 2.2833531643959524, 0.00018939683965044744),
    ("linear", 0.01, 2.3034404149471426, 0.018939683965045452),
    ("linear", 0.05, 2.384601023234779, 0.09469841982522731),
    ("linear", 0.3, 2.8918548250325062, 0.5681905189513635),
    ("linear", 1.0, 4.312165470066144, 1.8939683965045448),
    ("linear", 3.0, 8.370195884447963, 5.6819051895136345),
    ("linear", 10.0, 22.57330233478433, 18.93968396504545),
    ("matern_0.5", 1e-12, 1.6999999999975306, 2.2223352742147006e-06),
    ("matern_0.5", 1e-09, 1.6999999975305673, 7.02770603047412e-05),
    ("matern_0.5", 1e-06, 1.6999975305691282, 0.002222354999407961),
    ("matern_0.5", 0.0001, 1.6997530746681955, 0.02222275103601597),
    ("matern_0.5", 0.01, 1.6754841638619353, 0.2214309650345437),
    ("matern_0.5", 0.05, 1.5809056492567202, 0.4880457985543566),
    ("matern_0.5", 0.3, 1.099489538327917, 1.0959110015617899),
    ("matern_0.5", 1.0, 0.3977310726113383, 1.6138580652515027),
    ("matern_0.5", 3.0, 0.0217706161974833, 1.8320640730075555),
    ("matern_0.5", 10.0, 8.353239276974085e-07, 1.8439084384405167),
    ("matern_1.5", 1e-12, 1.7, 3.2803888752099953e-12),
    ("matern_1.5", 1e-09, 1.7, 3.28044940710007e-09),
    ("matern_1.5", 1e-06, 1.6999999999946194, 3.280446739590752e-06),
    ("matern_1.5", 0.0001, 1.69999994620228, 0.00032801743858354486),
    ("matern_1.5", 0.01, 1.699470873121725, 0.03253081241761438),
    ("matern_1.5", 0.05, 1.6876249770574137, 0.15732147305810606),
    ("matern_1.5", 0.3, 1.402399143338627, 0.7714931712742156),
    ("matern_1.5", 1.0, 0.4828541939745415, 1.560221654782075),
    ("matern_1.5", 3.0, 0.00766073248751221, 1.8397495848688146),
    ("matern_1.5", 10.0, 5.263560922218422e-10, 1.8439088911731207),
    ("matern_2.5", 1e-12, 1.7, 2.4450575058699255e-12),
    ("matern_2.5", 1e-09, 1.7, 2.445102625725497e-09),
    ("matern_2.5", 1e-06, 1.6999999999970108, 2.445102686044418e-06),
    ("matern_2.5", 0.0001, 1.699999970107365, 0.00024451026537280796),
    ("matern_2.5", 0.01, 1.6997011511350486, 0.02444785736834262),
    ("matern_2.5", 0.05, 1.6925720593439115, 0.1218847049968818),
    ("matern_2.5", 0.3, 1.4698431222773136, 0.6784642624673556),
    ("matern_2.5", 1.0, 0.5127915110729415, 1.5409143317699776),
    ("matern_2.5", 3.0, 0.004225073660001511, 1.8416160980725589),
    ("matern_2.5", 10.0, 5.124415657087563e-12, 1.8439088914557984),
    ("matern_0.8", 1e-12, 1.7, 9.60846904223641e-10),
    ("matern_0.8", 1e-09, 1.6999999999999709, 2.4132954254986916e-07),
    ("matern_0.8", 1e-06, 1.6999999981693752, 6.0508258170998655e-05),
    ("matern_0.8", 0.0001, 1.6999971590273688, 0.0023836831295611354),
    ("matern_0.8", 0.01, 1.696100889937094, 0.08830753153503951),
    ("matern_0.8", 0.05, 1.657255506372774, 0.29238499834029064),
    ("matern_0.8", 0.3, 1.2549199413089003, 0.9434829714320229),
    ("matern_0.8", 1.0, 0.43786797354559476, 1.5887932694056865),
    ("matern_0.8", 3.0, 0.014631636362304168, 1.835956624562626),
    ("matern_0.8", 10.0, 5.328658283168305e-08, 1.8439088625598703),
    ("matern_1", 1e-12, 1.7, 1.4052689059456825e-11),
    ("matern_1", 1e-09, 1.7, 1.216254024899868e-08),
    ("matern_1", 1e-06, 1.699999999950815, 9.918142441614976e-06),
    ("matern_1", 0.0001, 1.6999996733450604, 0.0008082758681430292),
    ("matern_1", 0.01, 1.6983852793534675, 0.05682817340954282),
    ("matern_1", 0.05, 1.6740244798080337, 0.2279277086795994),
    ("matern_1", 0.3, 1.3159751155852148, 0.8763844868718125),
    ("matern_1", 1.0, 0.4549295969069572, 1.578017999322595),
    ("matern_1", 3.0, 0.011787663126813664, 1.8375050132574802),
    ("matern_1", 10.0, 1.1772911511488332e-08, 1.8439088850738197),
    ("matern_2", 1e-12, 1.7, 2.6784263007245563e-12),
    ("matern_2", 1e-09, 1.7, 2.678475727049932e-09),
    ("matern_2", 1e-06, 1.6999999999964128, 2.6784757930910578e-06),
    ("matern_2", 0.0001, 1.699999964128844, 0.00026784755384371816),
    ("matern_2", 0.01, 1.6996416217847237, 0.02677230715781436),
    ("matern_2", 0.05, 1.6911647268895234, 0.13293060678772664),
    ("matern_2", 0.3, 1.4453498540019323, 0.7136527811170749),
    ("matern_2", 1.0, 0.5004121877800725, 1.5489272495633406),
    ("matern_2", 3.0, 0.005509206960280784, 1.8409186799202832),
    ("matern_2", 10.0, 4.2915212100928275e-11, 1.8439088914353035),
    ("matern_4.2", 1e-12, 1.7, 2.1697732918489552e-12),
    ("matern_4.2", 1e-09, 1.7, 2.16981333174876e-09),
    ("matern_4.2", 1e-06, 1.6999999999976458, 2.169813385278261e-06),
    ("matern_4.2", 0.0001, 1.6999999764595495, 0.00021698133742831146),
    ("matern_4.2", 0.01, 1.699764619197824, 0.021697041373237753),
    ("matern_4.2", 0.05, 1.6941296590801533, 0.10835442695014072),
    ("matern_4.2", 0.3, 1.5055648669700339, 0.6235946328023777),
    ("matern_4.2", 1.0, 0.5373741383556345, 1.5248776092817191),
    ("matern_4.2", 3.0, 0.0022459028136087183, 1.8426904770939645),
    ("matern_4.2", 10.0, 1.9495965280892716e-14, 1.8439088914585668),
    ("sum", 1e-12, 3.9831502628772624, 2.6784263007245563e-12),
    ("sum", 1e-09, 3.9831502649042485, 2.678475727049932e-09),
    ("sum", 1e-06, 3.983152291888647, 2.678475793129179e-06),
    ("sum", 0.0001, 3.983353146460371, 0.0002678475789510297),
    ("sum", 0.01, 4.003261068593788, 0.026784404705074236),
    ("sum", 0.05, 4.0801230360092395, 0.13387966674769083),
    ("sum", 0.3, 4.437861353360214, 0.7942464410816111),
    ("sum", 1.0, 4.904072351713803, 2.4090044673397095),
    ("sum", 3.0, 8.37032373103299, 5.973591121716645),
    ("sum", 10.0, 22.57330233478433, 19.029230901321252),
    ("product", 1e-12, 4.912999999999999, 1.9264582923292404e-11),
    ("product", 1e-09, 4.912999999999999, 1.926498609726956e-08),
    ("product", 1e-06, 4.91299999981443, 1.9264985267482415e-05),
    ("product", 0.0001, 4.912998144327925, 0.0019264849206969096),
    ("product", 0.01, 4.894507952129754, 0.19231249501915437),
    ("product", 0.05, 4.475544172046777, 0.9353671235971706),
    ("product", 0.3, 0.3500427245684894, 3.0209128671418215),
    ("product", 1.0, 0.2818331830644659, 3.0434082266220988),
    ("product", 3.0, 1.0453882380086392e-07, 3.134645082130089),
    ("product", 10.0, 1.4353868687154364e-55, 3.1346451154795814),
    ("product_linear", 1e-12, 3.881355446891346, 3.779880310804781e-12),
    ("product_linear", 1e-09, 3.8813554503372223, 3.779950063767614e-09),
    ("product_linear", 1e-06, 3.881358896209654, 3.7799511188103744e-06),
    ("product_linear", 0.0001, 3.8817003385198525, 0.0003780046424252252),
    ("product_linear", 0.01, 3.9154355917715513, 0.03789507944264111),
    ("product_linear", 0.05, 4.043143526579072, 0.19131562941818434),
    ("product_linear", 0.3, 4.470826438476235, 1.199784280636576),
    ("product_linear", 1.0, 2.552400416535565, 3.956596953567845),
    ("product_linear", 3.0, 0.0010701009598401603, 9.129041844337266),
    ("product_linear", 10.0, 5.814211193716519e-45, 26.202270831382652),
];
